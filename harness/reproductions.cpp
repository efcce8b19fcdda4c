#include "harness/reproductions.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "core/error.h"
#include "core/json.h"
#include "core/score_limit.h"
#include "core/text.h"
#include "evaluators/ocr.h"
#include "harness/guardrails.h"
#include "harness/plan.h"
#include "harness/registry.h"
#include "harness/training_table.h"
#include "harness/yardstick.h"
#include "results/multiplicity.h"
#include "results/paper_audit.h"
#include "results/sql.h"
#include "results/stored_runs.h"

namespace harness {
namespace {

constexpr double kUnequalMovement = 3;

/// Order of a method in a reproduction; the starting weights come first.
std::size_t rank(const StoredReproduction& reproduction, const std::string& method) {
  if (method == kBaseMethod) return 0;
  const auto found = std::find(reproduction.methods.begin(), reproduction.methods.end(), method);
  return 1 + static_cast<std::size_t>(found - reproduction.methods.begin());
}

template <class Row, class Read, class... Values>
std::vector<Row> select_rows(Store& store, const char* sql, Read read, const Values&... values) {
  try {
    SQLite::Statement statement(store.database(), sql);
    Query query(statement, values...);
    std::vector<Row> rows;
    while (query.step()) rows.push_back(read(query));
    return rows;
  } catch (const SQLite::Exception& failure) {
    throw database_error(failure, store.path());
  }
}

StoredReproduction read_reproduction(const Query& row) {
  StoredReproduction r;
  r.id = row.integer(0);
  r.table_id = row.text(1);
  r.backbone = row.text(2);
  r.scale = row.text(3);
  r.seeds = parse_json(row.text(4), "reproductions.seeds").get<std::vector<std::int64_t>>();
  r.methods = parse_json(row.text(5), "reproductions.methods").get<std::vector<std::string>>();
  r.spec = parse_json(row.text(6), "reproductions.spec");
  r.signature = row.text(7);
  r.finished = row.text(8);
  r.wall_seconds = row.real(9).value_or(0);
  return r;
}

/// What the metrics of an experiment are: as it was recorded with it. Older experiments have no such record;
/// theirs are what they are in this build.
MetricCatalogue metrics_known_to(const StoredReproduction& reproduction) {
  auto recorded = recorded_metrics(reproduction);
  return recorded.empty() && !is_training_table(reproduction) ? built_in_catalogue() : recorded;
}

/// The direction in which wins and losses of a recorded comparison were counted. Before experiments recorded
/// what their metrics are, that was a column's own (higher, unless it stated one), else the guardrail rule's,
/// else lower for edit rates.
Better recorded_direction(const StoredReproduction& reproduction, const std::string& metric) {
  if (!recorded_metrics(reproduction).empty()) return better_of(reproduction, metric);
  for (const auto& column : reproduction.spec.value("columns", Json::array())) {
    if (column.value("name", "") == metric) return better_from_name(column.value("better", "higher"));
  }
  if (const auto rule = guardrail_rule_of(reproduction)) {
    const auto found = std::ranges::find(rule->metrics, metric, &GuardrailMetric::name);
    if (found != rule->metrics.end()) return found->better;
  }
  return metric.starts_with("cer") ? Better::kDown : Better::kUp;
}

/// Texts of the prompts as cluster numbers: equal texts are one cluster.
std::map<std::int64_t, std::int64_t> clusters_by_prompt(Store& store, const std::string& evaluation_id) {
  constexpr auto kSql = R"sql(
    SELECT prompts.id, min(prompts.id) OVER (PARTITION BY prompts.text)
    FROM prompts JOIN evaluations ON evaluations.prompt_set_id = prompts.prompt_set_id
    WHERE evaluations.id = ?1)sql";
  std::map<std::int64_t, std::int64_t> clusters;
  for (const auto& [prompt, cluster] : select_rows<std::pair<std::int64_t, std::int64_t>>(
           store, kSql, [](const Query& row) { return std::pair(row.integer(0), row.integer(1)); },
           evaluation_id)) {
    clusters[prompt] = cluster;
  }
  return clusters;
}

const EvaluatedCheckpoint* find_checkpoint(const std::vector<EvaluatedCheckpoint>& checkpoints,
                                           const std::string& method, std::int64_t seed,
                                           const std::string& split) {
  for (const auto& checkpoint : checkpoints) {
    if (checkpoint.method == method && checkpoint.seed == seed && checkpoint.split == split &&
        checkpoint.selected) {
      return &checkpoint;
    }
  }
  return nullptr;
}

/// The same images, none of them measured.
std::vector<MetricValue> without_values(std::vector<MetricValue> values) {
  for (auto& value : values) value.value.reset();
  return values;
}

/// Mean of a training statistic over the off-policy updates of all runs of a method; nothing without any.
std::optional<double> off_policy_mean(Store& store, const std::vector<EvaluatedCheckpoint>& checkpoints,
                                      const std::string& method, const char* sql) {
  double sum = 0;
  int n = 0;
  std::string last_run;
  for (const auto& checkpoint : checkpoints) {
    if (checkpoint.method != method || checkpoint.run_id == last_run) continue;
    last_run = checkpoint.run_id;
    const auto values = select_rows<std::optional<double>>(
        store, sql, [](const Query& row) { return row.real(0); }, checkpoint.run_id);
    if (values.empty() || !values.front()) continue;
    sum += *values.front();
    ++n;
  }
  if (n == 0) return std::nullopt;
  return sum / n;
}

constexpr auto kMeanLambdaCenter =
    "SELECT avg(value) FROM train_stats WHERE run_id = ?1 AND name = 'lambda_center' AND on_policy = 0";
/// Of pairs of shard and step; for logs that do not have it, of steps whose mean over the shards is below 1.
constexpr auto kDampShare = R"sql(
    SELECT coalesce(
      (SELECT avg(value) FROM train_stats WHERE run_id = ?1 AND name = 'damped_share' AND on_policy = 0),
      (SELECT avg(value < 1) FROM train_stats
       WHERE run_id = ?1 AND name = 'lambda_weight' AND on_policy = 0 AND timestep IS NOT NULL)))sql";
constexpr auto kDampedUpdates = R"sql(
    SELECT count(value), total(value) FROM train_stats WHERE run_id = ?1 AND name = 'damping_undone')sql";
constexpr auto kEmaLag =
    "SELECT value FROM train_stats WHERE run_id = ?1 AND update_index = ?2 AND name = 'ema_lag'";
constexpr auto kMaxClipFraction =
    "SELECT max(value) FROM train_stats WHERE run_id = ?1 AND name = 'clip_fraction' AND on_policy = 0";

bool unequal_movement(Store& store, const std::vector<EvaluatedCheckpoint>& checkpoints, const std::string& a,
                      const std::string& b) {
  if (a == kBaseMethod || b == kBaseMethod) return false;
  const auto x = off_policy_mean(store, checkpoints, a, kMeanLambdaCenter);
  const auto y = off_policy_mean(store, checkpoints, b, kMeanLambdaCenter);
  if (!x || !y) return false;
  return std::max(*x, *y) > kUnequalMovement * std::min(*x, *y);
}

std::vector<TableColumn> columns_of(const TableSpec& spec) {
  std::vector<TableColumn> columns;
  for (const auto& column : spec.columns) {
    columns.push_back({.key = column.name,
                       .title = column.title,
                       .unit = unit_from_name(column.unit),
                       .decimals = column.decimals,
                       .better = better_from_name(column.better),
                       .paper_key = column.paper,
                       .note = column.note,
                       .std_of = column.std_of,
                       .stands_for = column.stands_for,
                       .paper_metric = column.paper_metric});
  }
  return columns;
}

/// The metrics that the table knows and has no column for: comparisons and guardrails show them too.
std::vector<TableColumn> metrics_without_column(const TableSpec& spec) {
  std::vector<TableColumn> metrics;
  for (const auto& name : spec.metric_catalogue.names()) {
    if (std::ranges::find(spec.columns, name, &ColumnSpec::name) != spec.columns.end()) continue;
    const auto& metric = *spec.metric_catalogue.find(name);
    metrics.push_back({.key = name,
                       .title = metric.title,
                       .unit = unit_from_name(metric.unit),
                       .decimals = metric.decimals,
                       .better = better_from_name(metric.better)});
  }
  return metrics;
}

/// The late budget that a run's worker reported; nothing for a method without one.
std::optional<double> tau_of(Store& store, const std::string& run_id) {
  const auto settings = store.run(run_id)->effective_settings.value("method_settings", Json::object());
  const auto found = settings.find("tau");
  if (found == settings.end() || !found->is_number()) return std::nullopt;
  return found->get<double>();
}

/// A method without a budget is held against that of the others, if they have one in common.
void share_budget(std::vector<TableRow>& rows) {
  std::optional<double> common;
  for (const auto& row : rows) {
    if (row.tau && common && *row.tau != *common) return;
    if (row.tau) common = row.tau;
  }
  for (auto& row : rows) {
    if (!row.tau) row.tau = common;
  }
}

using ImageKey = std::pair<std::int64_t, std::int64_t>;  // prompt, sample

/// What the training of a checkpoint says that belongs under a table.
void add_training(Store& store, const EvaluatedCheckpoint& evaluated, const Json& evaluation_settings,
                  TableRow& row) {
  row.damp_share = off_policy_mean(store, {evaluated}, evaluated.method, kDampShare);
  const auto clipped = off_policy_mean(store, {evaluated}, evaluated.method, kMaxClipFraction);
  row.never_clipped = clipped && *clipped == 0;
  using Counts = std::pair<std::int64_t, std::int64_t>;
  const auto damped = select_rows<Counts>(
      store, kDampedUpdates,
      [](const Query& q) { return Counts(q.integer(0), std::llround(q.real(1).value_or(0))); },
      evaluated.run_id);
  std::tie(row.damped_updates, row.undone_updates) = damped.front();
  if (evaluation_settings.value("eval_weights", "ema") == "raw") return;
  const auto lags = select_rows<std::optional<double>>(
      store, kEmaLag, [](const Query& q) { return q.real(0); }, evaluated.run_id, evaluated.step);
  if (!lags.empty()) row.ema_lag = lags.front();
}

TableRow table_row(Store& store, const EvaluatedCheckpoint& evaluated) {
  TableRow row;
  row.method = evaluated.method;
  row.seed = evaluated.seed;
  row.checkpoint = evaluated.step;
  row.split = evaluated.split;
  row.peeked = evaluated.peeked;
  const auto evaluation = store.evaluation(evaluated.evaluation_id).value();
  row.n = evaluation.n;
  std::set<ImageKey> missing;
  for (const auto& metric : metrics_of(store, {evaluated})) {
    std::vector<std::optional<double>> values;
    for (const auto& value : store.metric_values(evaluated.evaluation_id, metric)) {
      values.push_back(value.value);
      if (!value.value && value.reason == kNoTargetReason) {
        ++row.without_target[metric];
      } else if (!value.value || !is_usable_score(*value.value)) {
        missing.insert({value.prompt_id, value.sample});
      }
    }
    row.metrics[metric] = summarize(values);
  }
  row.n_missing = static_cast<std::int64_t>(missing.size());
  for (const auto& checkpoint : store.checkpoints(evaluated.run_id)) {
    if (checkpoint.step != evaluated.step) continue;
    row.lambda_late = checkpoint.lambda_late;
    row.clip_fraction = checkpoint.clip_fraction;
  }
  if (evaluated.method != kBaseMethod) add_training(store, evaluated, evaluation.settings, row);
  return row;
}

std::vector<TableComparison> stored_comparisons(Store& store, const StoredReproduction& reproduction,
                                                const std::string& split) {
  constexpr auto kSql = R"sql(
    SELECT baseline, method, metric, n, n_missing, clusters, baseline_mean, method_mean, delta, ci95_low, ci95_high,
           wins, ties, losses, t, p_value, test, note, runs, runs_se, runs_df, runs_ci95_low, runs_ci95_high,
           runs_p_value
    FROM comparisons WHERE reproduction_id = ?1 AND split = ?2 ORDER BY id)sql";
  const auto read = [](const Query& row) {
    TableComparison c{.baseline = row.text(0), .method = row.text(1), .metric = row.text(2), .values = {}};
    auto& v = c.values;
    v.n = row.integer(3);
    v.n_missing = row.integer(4);
    v.clusters = row.integer(5);
    v.baseline_mean = row.real(6);
    v.method_mean = row.real(7);
    v.delta = row.real(8);
    if (const auto low = row.real(9), high = row.real(10); low && high) v.ci = Interval{*low, *high};
    v.wins = row.integer(11);
    v.ties = row.integer(12);
    v.losses = row.integer(13);
    v.t = row.real(14);
    v.p_value = row.real(15);
    v.test = row.text(16);
    c.unequal_movement = row.optional_text(17).value_or("") == "unequal movement";
    v.crossed = crossed_from({.runs = row.optional_integer(18),
                              .error = row.real(19),
                              .freedom = row.real(20),
                              .low = row.real(21),
                              .high = row.real(22),
                              .p_value = row.real(23)},
                             v.delta);
    v.seeds = row.optional_integer(18).value_or(0);
    return c;
  };
  auto comparisons = select_rows<TableComparison>(store, kSql, read, reproduction.id, split);
  std::map<std::string, bool> turned;
  for (auto& c : comparisons) {
    c.restates = restated_by(c.metric);
    const auto [found, is_new] = turned.try_emplace(c.metric);
    if (is_new) found->second = counts_are_turned(reproduction, c.metric);
    if (found->second) std::swap(c.values.wins, c.values.losses);
  }
  return comparisons;
}

std::map<std::string, std::string> stored_artifacts(Store& store, const StoredReproduction& reproduction) {
  std::map<std::string, std::string> artifacts;
  for (auto& [name, path] : select_rows<std::pair<std::string, std::string>>(
           store, "SELECT name, path FROM artifacts WHERE reproduction_id = ?1",
           [](const Query& row) { return std::pair(row.text(0), row.text(1)); }, reproduction.id)) {
    artifacts[name] = path;
  }
  return artifacts;
}

/// What the jobs behind a reproduction want said under every table made from it, each text once: those of its
/// runs, and of its evaluations on `split`.
std::vector<std::string> notes_of_jobs(Store& store, const StoredReproduction& reproduction,
                                       const std::string& split) {
  constexpr auto kSql = R"sql(
    WITH member AS (
      SELECT run_id AS job_id FROM reproduction_runs WHERE reproduction_id = ?1
      UNION ALL
      SELECT evaluations.id FROM reproduction_evaluations JOIN evaluations ON evaluations.id = evaluation_id
      WHERE reproduction_id = ?1 AND evaluations.split = ?2
    )
    SELECT note.value
    FROM member JOIN events ON events.id = (
        SELECT max(id) FROM events WHERE job_id = member.job_id AND type = 'job_completed'),
      json_each(events.detail, '$.summary.table_notes') AS note
    GROUP BY note.value ORDER BY min(events.id))sql";
  return select_rows<std::string>(
      store, kSql, [](const Query& row) { return row.text(0); }, reproduction.id, split);
}

void fill_evaluation_table(Store& store, const StoredReproduction& reproduction, const std::string& split,
                           TableModel& model) {
  const bool with_budget = std::ranges::count(model.columns, "tau_share", &TableColumn::key) > 0;
  for (const auto& checkpoint : evaluated_checkpoints(store, reproduction)) {
    const Json not_run = store.evaluation(checkpoint.evaluation_id)->not_run;
    for (const auto& [metric, reason] : not_run.items()) model.not_run[metric] = reason;
    if (checkpoint.split != split) continue;
    const bool is_base = checkpoint.method == kBaseMethod;
    const bool shown = is_base || split == "test" || checkpoint.selected || model.every_checkpoint;
    if (!shown) continue;
    auto& rows = is_base ? model.reference : model.rows;
    rows.push_back(table_row(store, checkpoint));
    rows.back().selected = checkpoint.selected || !model.every_checkpoint;
    if (with_budget && !is_base) rows.back().tau = tau_of(store, checkpoint.run_id);
  }
  share_budget(model.rows);
  model.comparisons = stored_comparisons(store, reproduction, split);
}

std::vector<ComparisonRecord> records_of(const std::vector<TableComparison>& comparisons,
                                         const std::string& split) {
  std::vector<ComparisonRecord> records;
  for (const auto& c : comparisons) {
    records.push_back({.split = split,
                       .metric = c.metric,
                       .baseline = c.baseline,
                       .method = c.method,
                       .result = c.values,
                       .note = {}});
  }
  return records;
}

void keep_named_metrics(const StoredReproduction& reproduction, TableModel& model) {
  const auto named = spec_of(reproduction).metrics();
  std::erase_if(model.comparisons, [&](const TableComparison& comparison) {
    return std::ranges::find(named, comparison.metric) == named.end();
  });
}

/// All comparisons guard; the table itself shows those of the metrics that it names.
void split_off_guardrails(const StoredReproduction& reproduction, TableModel& model) {
  model.guardrails = guardrail_panel_of(reproduction, records_of(model.comparisons, model.split));
  if (model.guardrails) keep_named_metrics(reproduction, model);
}

/// What the DB does not keep of the comparisons shown: tests, the runs' own differences, and all that a
/// version without claims about methods recorded nothing of.
void complete_comparisons(Store& store, const StoredReproduction& reproduction, TableModel& model,
                          bool draws_seeds = true) {
  const auto checkpoints = evaluated_checkpoints(store, reproduction);
  // The intervals over prompts are in the DB; only those with seeds drawn too are not.
  BootstrapSettings settings;
  if (!draws_seeds || reproduction.seeds.size() < 2) settings.resamples = 0;
  std::map<std::pair<std::string, std::string>, std::vector<TableComparison*>> arms;
  for (auto& comparison : model.comparisons)
    arms[{comparison.baseline, comparison.method}].push_back(&comparison);
  for (const auto& [arm, comparisons] : arms) {
    std::vector<std::string> metrics;
    for (const auto* comparison : comparisons) metrics.push_back(comparison->metric);
    const auto records = compare_methods(store, reproduction, checkpoints, arm.first, arm.second, model.split,
                                         metrics, settings);
    for (std::size_t i = 0; i < metrics.size(); ++i) {
      auto& values = comparisons[i]->values;
      const auto& computed = records[i].result;
      values.seeds = computed.seeds;
      values.ci_seeds = computed.ci_seeds;
      values.crossed = computed.crossed;
      values.tests = computed.tests;
      values.standard_error = computed.standard_error;
      values.carried_by = computed.carried_by;
    }
  }
}

/// The same differences on the prompts that chose the checkpoints.
void add_validation(Store& store, const StoredReproduction& reproduction, TableModel& model) {
  if (model.split == "validation") return;
  for (const auto& other : stored_comparisons(store, reproduction, "validation")) {
    for (auto& comparison : model.comparisons) {
      if (is_same_question(comparison, other)) comparison.validation_delta = other.values.delta;
    }
  }
}

void withdraw_claims(TableModel& model) {
  for (auto& claim : model.claims) {
    claim.judged = false;
    claim.holds.reset();
  }
}

bool reuses_samples(const StoredReproduction& reproduction) {
  const auto& effective = reproduction.spec.at("effective");
  return effective.value("settings", Json::object()).value("inner_epochs", 1) > 1;
}

void fill_training_table(Store& store, const StoredReproduction& reproduction, const std::string& window_unit,
                         TableModel& model) {
  model.over_training = true;
  model.rows = training_rows(store, reproduction, window_unit);
  model.comparisons = training_comparisons(reproduction, model.columns, model.rows);
  model.notes.insert(model.notes.begin(), window_note(reproduction, window_unit));
  if (reuses_samples(reproduction)) {
    model.notes.push_back(
        "Samples are used several times here (inner_epochs): those that were trained on correlate with the "
        "policy's "
        "move, and the variance of their log-ratio exceeds the law's. The law itself is checked on fresh "
        "samples "
        "alone: `harness query law`, `harness figure law-audit`; a run that breaks it is named here.");
  }
}

/// Where the paper's printed figures of this table contradict one another.
void add_audit_notes(const std::string& paper_table, TableModel& model) {
  for (const auto& finding : audit_paper()) {
    if (finding.verdict != PaperVerdict::kDoesNotAddUp || !finding.name.starts_with(paper_table + ": "))
      continue;
    model.notes.push_back(fmt::format(
        "The paper's own figures, {}: printed {}, computed from its cells {} "
        "({}; `harness check --paper`).",
        finding.name.substr(paper_table.size() + 2), finding.printed, finding.computed, finding.message));
  }
}

void load_paper(const TableSpec& spec, TableModel& model) {
  if (!spec.reproduces.empty()) {
    model.paper = load_paper_table(spec.reproduces);
    add_audit_notes(spec.reproduces, model);
  }
  model.levels_compare = spec.levels_compare;
  model.backbone_note = note_of_backbone(model.backbone);
  model.paper_rows = spec.paper_rows;
  const bool of_several_tasks =
      model.paper && !model.paper->rows.empty() && !model.paper->rows.front().task.empty();
  if (of_several_tasks) model.paper_task = spec.task;
}

std::vector<ComparisonRecord> training_records(Store& store, const StoredReproduction& reproduction) {
  std::vector<ComparisonRecord> records;
  const auto columns = columns_of(spec_of(reproduction));
  for (const auto& comparison :
       training_comparisons(reproduction, columns, training_rows(store, reproduction))) {
    records.push_back({.split = kTrainingSplit,
                       .metric = comparison.metric,
                       .baseline = comparison.baseline,
                       .method = comparison.method,
                       .result = comparison.values,
                       .note = {}});
  }
  return records;
}

/// What was asked for: "--experiment 3 --scale smoke".
std::string description_of(const ReproductionFilter& filter) {
  std::vector<std::string> parts;
  const auto add = [&](const char* option, const std::string& value) {
    if (!value.empty()) parts.push_back(fmt::format("{} {}", option, value));
  };
  add("--experiment", filter.experiment ? fmt::format("{}", *filter.experiment) : "");
  add("--table", filter.table);
  add("--backbone", filter.backbone);
  add("--scale", filter.scale);
  add("--prompts", filter.prompts);
  add("--seeds", fmt::format("{}", fmt::join(filter.seeds, ",")));
  return join(parts, " ");
}

}  // namespace

std::vector<StoredReproduction> all_reproductions(Store& store) {
  return select_rows<StoredReproduction>(store, R"sql(
    SELECT id, table_id, backbone, scale, seeds, methods, spec, signature, finished, wall_seconds
    FROM reproductions ORDER BY recency DESC)sql",
                                         read_reproduction);
}

TableSpec spec_of(const StoredReproduction& reproduction) {
  Json document = reproduction.spec;
  document.erase("effective");
  const auto source = recorded_metrics(reproduction).empty() ? SpecSource::kOldRecord : SpecSource::kRecord;
  return for_backbone(
      parse_table_spec(std::move(document), "reproductions.spec", metrics_known_to(reproduction), source),
      reproduction.backbone);
}

MetricCatalogue recorded_metrics(const StoredReproduction& reproduction) {
  const auto effective = reproduction.spec.find("effective");
  if (effective == reproduction.spec.end() || !effective->contains(kMetricsRecord)) return {};
  return MetricCatalogue::from_json(effective->at(kMetricsRecord),
                                    fmt::format("reproductions.spec: effective.{}", kMetricsRecord));
}

std::vector<std::string> runs_of_reproduction(Store& store, std::int64_t reproduction_id) {
  return select_rows<std::string>(
      store, "SELECT run_id FROM reproduction_runs WHERE reproduction_id = ?1 ORDER BY run_id",
      [](const Query& row) { return row.text(0); }, reproduction_id);
}

std::string prompt_set_of(const StoredReproduction& reproduction) {
  return reproduction.spec.at("effective").at("prompt_set").at("name").get<std::string>();
}

StoredReproduction find_reproduction(Store& store, const ReproductionFilter& filter) {
  const auto all = all_reproductions(store);
  if (all.empty()) {
    throw Error("holds no completed reproduction", store.path().string(),
                "run `harness reproduce --table sd35-ocr`");
  }
  const auto fits = [&](const StoredReproduction& r) {
    return (filter.table.empty() || r.table_id == filter.table) &&
           (filter.backbone.empty() || r.backbone == filter.backbone) &&
           (filter.scale.empty() || r.scale == filter.scale) &&
           (filter.prompts.empty() || prompt_set_of(r) == filter.prompts) &&
           (!filter.experiment || r.id == *filter.experiment) &&
           (filter.seeds.empty() || r.seeds == filter.seeds);
  };
  const auto found = std::find_if(all.begin(), all.end(), fits);
  if (found != all.end()) return *found;
  std::vector<std::string> tables;
  for (const auto& r : all) {
    if (std::find(tables.begin(), tables.end(), r.table_id) == tables.end()) tables.push_back(r.table_id);
  }
  if (!filter.table.empty() && std::find(tables.begin(), tables.end(), filter.table) == tables.end()) {
    throw Error(fmt::format("no completed reproduction of table \"{}\"", filter.table), store.path().string(),
                suggestion(filter.table, tables));
  }
  std::vector<std::string> known;
  for (const auto& r : all) {
    known.push_back(fmt::format("{}: {} {} {} {} seeds {}", r.id, r.table_id, r.backbone, r.scale,
                                prompt_set_of(r), fmt::join(r.seeds, ",")));
  }
  throw Error("no completed experiment fits " + description_of(filter), store.path().string(),
              "there are: " + join(known, "; "));
}

std::vector<EvaluatedCheckpoint> evaluated_checkpoints(Store& store, const StoredReproduction& reproduction) {
  // Selected: a test evaluation that a selection allowed; on other splits the checkpoint that the selection
  // came from.
  constexpr auto kSql = R"sql(
    SELECT e.id, r.id, entry.arm, e.split, r.seed, c.step, e.peek,
           e.selection_id IS NOT NULL OR EXISTS (
             SELECT 1 FROM selections s
             WHERE s.checkpoint_id = c.id AND e.split <> 'test' AND s.evaluation_id = e.id)
    FROM reproduction_evaluations AS member
    JOIN evaluations AS e ON e.id = member.evaluation_id
    JOIN checkpoints AS c ON c.id = e.checkpoint_id
    JOIN runs AS r ON r.id = c.run_id
    JOIN reproduction_runs AS entry ON entry.reproduction_id = member.reproduction_id AND entry.run_id = r.id
    WHERE member.reproduction_id = ?1)sql";
  const auto read = [](const Query& row) {
    return EvaluatedCheckpoint{.evaluation_id = row.text(0),
                               .run_id = row.text(1),
                               .method = row.text(2),
                               .split = row.text(3),
                               .seed = row.integer(4),
                               .step = static_cast<int>(row.integer(5)),
                               .peeked = row.integer(6) != 0,
                               .selected = row.integer(7) != 0};
  };
  auto checkpoints = select_rows<EvaluatedCheckpoint>(store, kSql, read, reproduction.id);
  const auto key = [&](const EvaluatedCheckpoint& c) {
    return std::tuple(rank(reproduction, c.method), c.seed, c.split, c.step);
  };
  std::sort(checkpoints.begin(), checkpoints.end(),
            [&](const auto& a, const auto& b) { return key(a) < key(b); });
  return checkpoints;
}

std::vector<std::string> metrics_of(Store& store, const std::vector<EvaluatedCheckpoint>& checkpoints) {
  std::vector<std::string> names;
  for (const auto& checkpoint : checkpoints) {
    const auto evaluation = store.evaluation(checkpoint.evaluation_id);
    for (const auto& name : evaluation->config.at("metrics")) {
      const auto text = name.get<std::string>();
      if (evaluation->not_run.contains(text) || std::find(names.begin(), names.end(), text) != names.end())
        continue;
      names.push_back(text);
    }
  }
  return names;
}

Better better_of(const StoredReproduction& reproduction, const std::string& metric) {
  return better_from_name(spec_of(reproduction).better(metric));
}

bool counts_are_turned(const StoredReproduction& reproduction, const std::string& metric) {
  const bool counted_down = recorded_direction(reproduction, metric) == Better::kDown;
  return counted_down != (better_of(reproduction, metric) == Better::kDown);
}

std::vector<PairedValue> paired_values(Store& store, const std::vector<EvaluatedCheckpoint>& checkpoints,
                                       const std::string& baseline, const std::string& method,
                                       const std::string& split, const std::string& metric) {
  std::vector<PairedValue> pairs;
  for (const auto& checkpoint : checkpoints) {
    if (checkpoint.method != method || checkpoint.split != split || !checkpoint.selected) continue;
    const auto* other = find_checkpoint(checkpoints, baseline, checkpoint.seed, split);
    const auto clusters = clusters_by_prompt(store, checkpoint.evaluation_id);
    const auto ours = store.metric_values(checkpoint.evaluation_id, metric);
    const auto theirs = other ? store.metric_values(other->evaluation_id, metric) : without_values(ours);
    if (theirs.size() != ours.size()) {
      throw Error(fmt::format("{} and {} have {} and {} values of {} on the {} split", baseline, method,
                              theirs.size(), ours.size(), metric, split),
                  store.path().string(), "repeat the run with --fresh", Status::kFailed);
    }
    for (std::size_t i = 0; i < ours.size(); ++i) {
      if (ours[i].prompt_id != theirs[i].prompt_id || ours[i].sample != theirs[i].sample) {
        throw Error(fmt::format("{} and {} were not measured on the same prompts", baseline, method),
                    store.path().string(), "repeat the run with --fresh", Status::kFailed);
      }
      pairs.push_back({.baseline = theirs[i].value,
                       .method = ours[i].value,
                       .cluster = clusters.at(ours[i].prompt_id),
                       .seed = checkpoint.seed});
    }
  }
  return pairs;
}

std::vector<ComparisonRecord> compare_methods(Store& store, const StoredReproduction& reproduction,
                                              const std::vector<EvaluatedCheckpoint>& checkpoints,
                                              const std::string& baseline, const std::string& method,
                                              const std::string& split,
                                              const std::vector<std::string>& metrics,
                                              const BootstrapSettings& settings) {
  const bool over_training = is_training_table(reproduction);
  const auto rows = over_training ? training_rows(store, reproduction) : std::vector<TableRow>{};
  std::vector<PairedMetric> pairs;
  for (const auto& metric : metrics) {
    pairs.push_back({.pairs = over_training
                                  ? seed_pairs(rows, baseline, method, metric)
                                  : paired_values(store, checkpoints, baseline, method, split, metric),
                     .better = better_of(reproduction, metric)});
  }
  auto results = compare_paired(pairs, settings);
  const bool unequal = unequal_movement(store, checkpoints, baseline, method);
  std::vector<ComparisonRecord> records;
  for (std::size_t i = 0; i < metrics.size(); ++i) {
    records.push_back({.split = split,
                       .metric = metrics[i],
                       .baseline = baseline,
                       .method = method,
                       .result = std::move(results[i]),
                       .note = unequal ? std::optional<std::string>("unequal movement") : std::nullopt});
  }
  return records;
}

std::vector<ComparisonRecord> recorded_comparisons(Store& store, const StoredReproduction& reproduction,
                                                   const std::string& split) {
  return records_of(stored_comparisons(store, reproduction, split), split);
}

std::vector<TableComparison> judged_comparisons(Store& store, const StoredReproduction& reproduction,
                                                const std::string& split) {
  TableModel model;
  model.split = split;
  model.comparisons = stored_comparisons(store, reproduction, split);
  keep_named_metrics(reproduction, model);
  complete_comparisons(store, reproduction, model, false);
  adjust_comparisons(model.comparisons, model.confidence);
  return model.comparisons;
}

std::vector<std::pair<std::string, std::string>> compared_arms(const StoredReproduction& reproduction) {
  const auto baseline = reproduction.spec.at("effective").at("baseline").get<std::string>();
  std::vector<std::pair<std::string, std::string>> arms;
  for (const auto& method : reproduction.methods) {
    if (method != baseline) arms.emplace_back(baseline, method);
  }
  if (is_training_table(reproduction)) return arms;
  for (const auto& method : reproduction.methods) arms.emplace_back(kBaseMethod, method);
  return arms;
}

std::vector<ComparisonRecord> compare_all(Store& store, const StoredReproduction& reproduction) {
  if (is_training_table(reproduction)) return training_records(store, reproduction);
  const auto checkpoints = evaluated_checkpoints(store, reproduction);
  const auto arms = compared_arms(reproduction);
  const auto metrics = metrics_of(store, checkpoints);
  std::vector<ComparisonRecord> records;
  std::vector<std::string> splits = {"validation"};
  if (spec_of(reproduction).tests()) splits.insert(splits.begin(), "test");
  for (const auto& split : splits) {
    for (const auto& [first, second] : arms) {
      std::ranges::move(compare_methods(store, reproduction, checkpoints, first, second, split, metrics),
                        std::back_inserter(records));
    }
  }
  return records;
}

std::string scale_warning_of(const StoredReproduction& reproduction) {
  const auto spec = spec_of(reproduction);
  const auto scale = spec.scales.find(reproduction.scale);
  if (scale == spec.scales.end() || scale->second.judges) return {};
  return scale_note(scale->second);
}

bool chooses_on(const StoredReproduction& reproduction, const std::string& split) {
  const auto spec = spec_of(reproduction);
  return !spec.is_training() && spec.selection.split == split &&
         reproduction.spec.at("effective").value("checkpoints", Json::array()).size() > 1;
}

std::string shown_split(const TableSpec& spec) {
  return spec.is_training() ? kTrainingSplit : spec.shown.split;
}

TableModel make_table_model(Store& store, const StoredReproduction& reproduction,
                            const std::string& window_unit) {
  const auto spec = spec_of(reproduction);
  const std::string split = shown_split(spec);
  TableModel model;
  model.id = reproduction.table_id;
  model.title = spec.title;
  model.backbone = reproduction.backbone;
  model.scale = reproduction.scale;
  model.split = split;
  model.signature = reproduction.signature;
  model.columns = columns_of(spec);
  model.metrics = metrics_without_column(spec);
  model.every_checkpoint = spec.shown.every_checkpoint;
  const Json& effective = reproduction.spec.at("effective");
  model.baseline = effective.at("baseline");
  model.notes = effective.value("notes", std::vector<std::string>{});
  model.notes.insert(model.notes.end(), spec.notes.begin(), spec.notes.end());
  for (auto& note : notes_of_jobs(store, reproduction, split)) model.notes.push_back(std::move(note));
  if (spec.is_training()) {
    fill_training_table(store, reproduction, window_unit, model);
  } else {
    fill_evaluation_table(store, reproduction, split, model);
    complete_comparisons(store, reproduction, model);
    split_off_guardrails(reproduction, model);
    add_validation(store, reproduction, model);
    model.yardstick = yardstick_for(store, reproduction, split);
    model.calibration = latest_calibration(store, reproduction, split);
  }
  model.scale_warning = scale_warning_of(reproduction);
  std::erase(model.notes, model.scale_warning);
  model.chosen_on_split = chooses_on(reproduction, split);
  adjust_comparisons(model.comparisons, model.confidence);
  load_paper(spec, model);
  model.artifacts = stored_artifacts(store, reproduction);
  model.wall_seconds = reproduction.wall_seconds;
  model.claims = decide_claims(reproduction, model);
  for (auto& claim : printed_differences(model)) model.claims.push_back(std::move(claim));
  if (!model.scale_warning.empty()) withdraw_claims(model);
  return model;
}

}  // namespace harness
