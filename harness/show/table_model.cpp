#include "harness/show/table_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <set>

#include "core/error.h"
#include "core/paths/shown_path.h"
#include "core/score_limit.h"
#include "core/text.h"
#include "evaluators/ocr.h"
#include "harness/show/comparisons.h"
#include "harness/show/families.h"
#include "harness/show/guardrails.h"
#include "harness/show/leaderboard.h"
#include "harness/show/test_split_notes.h"
#include "harness/show/training_table.h"
#include "harness/spec/registry.h"
#include "results/paper/paper_audit.h"
#include "results/query/saved_query.h"
#include "results/store/rows.h"
#include "results/table/table_judgement.h"
#include "results/table/table_view.h"
#include "results/verdict/multiplicity.h"

namespace harness {
namespace {

/// A training's notes for a table, of the checkpoint after update ?2. The share of
/// damped pairs of shard and step: for logs that do not have it, of steps whose mean over the shards is
/// below 1.
constexpr auto kTraining = R"sql(
    SELECT coalesce(
        (SELECT avg(value) FROM train_stats WHERE run_id = ?1 AND name = 'damped_share' AND on_policy = 0),
        (SELECT avg(value < 1) FROM train_stats
         WHERE run_id = ?1 AND name = 'lambda_weight' AND on_policy = 0 AND timestep IS NOT NULL)),
      EXISTS (SELECT 1 FROM train_stats AS forward
              WHERE forward.run_id = ?1 AND forward.update_index = ?2 AND forward.name = 'trained_steps'
                AND forward.value = 0
                AND NOT EXISTS (SELECT 1 FROM train_stats AS s WHERE s.run_id = ?1 AND s.name = 'lambda_center')),
      (SELECT value FROM train_stats WHERE run_id = ?1 AND update_index = ?2 AND name = 'velocity_movement'),
      (SELECT max(value) FROM train_stats WHERE run_id = ?1 AND name = 'clip_fraction' AND on_policy = 0),
      count(value), total(value)
    FROM train_stats WHERE run_id = ?1 AND name = 'damping_undone')sql";

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

void add_training(Store& store, const EvaluatedCheckpoint& evaluated, TableRow& row) {
  using Number = std::optional<double>;
  const auto [damp_share, lacks_steps, movement, most_clipped, damped, undone] =
      rows_of<Number, bool, Number, Number, std::int64_t, double>(store, kTraining, evaluated.run_id,
                                                                  evaluated.step)
          .front();
  row.damp_share = damp_share;
  row.has_steps = !lacks_steps;
  if (lacks_steps) row.velocity_movement = movement;
  row.never_clipped = most_clipped == 0;
  row.damped_updates = damped;
  row.undone_updates = std::llround(undone);
}

/// Values of a metric by the tag of their prompt's record; a prompt without one does not count.
std::map<std::string, Summary> tag_summaries(Store& store, const std::string& evaluation_id,
                                             const std::string& metric) {
  static const auto kSql = "SELECT " + kGenevalTag + R"sql(, value
    FROM metrics JOIN prompts ON prompts.id = prompt_id WHERE evaluation_id = ?1 AND name = ?2)sql";
  std::map<std::string, std::vector<std::optional<double>>> values;
  for (const auto& [tag, value] : rows_of<std::optional<std::string>, std::optional<double>>(
           store, kSql.c_str(), evaluation_id, metric)) {
    if (tag) values[*tag].push_back(value);
  }
  std::map<std::string, Summary> summaries;
  for (const auto& [tag, of_tag] : values) summaries[tag] = summarize(of_tag);
  return summaries;
}

TableRow table_row(ScoreReader& scores, const EvaluatedCheckpoint& evaluated, const std::string& by_tag) {
  auto& store = scores.store();
  TableRow row;
  row.method = evaluated.method;
  row.seed = evaluated.seed;
  row.checkpoint = evaluated.step;
  row.split = evaluated.split;
  const auto evaluation = store.evaluation(evaluated.evaluation_id).value();
  row.n = evaluation.n;
  std::set<ImageKey> missing;
  for (const auto& metric : metrics_of(store, {evaluated})) {
    std::vector<std::optional<double>> values;
    for (const auto& value : scores.values(evaluated.evaluation_id, metric)) {
      values.push_back(value.value);
      if (!value.value && value.reason == kNoTargetReason) {
        ++row.without_target[metric];
      } else if (!value.value || !is_usable_score(*value.value)) {
        missing.insert({value.prompt_id, value.sample});
      }
    }
    row.metrics[metric] = summarize(values);
  }
  if (!by_tag.empty()) row.by_tag = tag_summaries(store, evaluated.evaluation_id, by_tag);
  row.n_missing = static_cast<std::int64_t>(missing.size());
  for (const auto& checkpoint : store.checkpoints(evaluated.run_id)) {
    if (checkpoint.step != evaluated.step) continue;
    row.lambda_late = checkpoint.lambda_late;
    row.clip_fraction = checkpoint.clip_fraction;
  }
  if (evaluated.method != kBaseMethod) add_training(store, evaluated, row);
  return row;
}

/// What an experiment's runs and evaluations on `split` want said under every table, each text once; "{row}"
/// in one is the row's name.
std::vector<std::string> notes_of_jobs(Store& store, const Experiment& experiment, const std::string& split) {
  constexpr auto kSql = R"sql(
    WITH member AS (
      SELECT run_id AS job_id, run_id FROM reproduction_runs WHERE reproduction_id = ?1
      UNION ALL
      SELECT evaluations.id, run_id
      FROM reproduction_evaluations JOIN evaluations ON evaluations.id = evaluation_id
      JOIN checkpoints ON checkpoints.id = checkpoint_id
      WHERE reproduction_id = ?1 AND evaluations.split = ?2
    ), said AS (
      SELECT replace(note.value, '{row}', entry.arm || iif(?3, ' (seed ' || runs.seed || ')', '')) AS text,
             events.id
      FROM member JOIN events ON events.id = (
          SELECT max(id) FROM events WHERE job_id = member.job_id AND type = 'job_completed')
      JOIN reproduction_runs AS entry ON entry.reproduction_id = ?1 AND entry.run_id = member.run_id
      JOIN runs ON runs.id = member.run_id,
        json_each(events.detail, '$.summary.table_notes') AS note
    )
    SELECT text FROM said GROUP BY text ORDER BY min(id))sql";
  return rows_of<std::string>(store, kSql, experiment.id, split, experiment.seeds.size() > 1);
}

/// What the record, the table's file and the jobs say; `warning` stands above the table already.
std::vector<TableNote> recorded_notes(Store& store, const Experiment& experiment, const std::string& split,
                                      const std::string& warning) {
  std::vector<TableNote> notes;
  const auto add = [&](const std::vector<std::string>& texts) {
    for (const auto& text : texts) {
      // Records of earlier versions name folders in full.
      if (text != warning) notes.push_back({with_last_names(text)});
    }
  };
  add(experiment.effective.notes);
  add(experiment.table.notes);
  add(notes_of_jobs(store, experiment, split));
  return notes;
}

void fill_evaluation_table(ScoreReader& scores, const Experiment& experiment, const std::string& split,
                           TableModel& model) {
  auto& store = scores.store();
  const bool with_budget = std::ranges::count(model.columns, "tau_share", &TableColumn::key) > 0;
  std::map<std::string, ExperimentRun> runs;
  if (std::ranges::any_of(experiment.table.columns, &ColumnSpec::is_statistic)) {
    for (auto& run : runs_of(store, experiment)) runs[run.id] = std::move(run);
  }
  const auto& checkpoints = scores.checkpoints(experiment);
  for (const auto& checkpoint : checkpoints) {
    const Json not_run = store.evaluation(checkpoint.evaluation_id)->not_run;
    for (const auto& [metric, reason] : not_run.items()) model.not_run[metric] = reason;
    if (checkpoint.split != split || !checkpoint.copy_of.empty()) continue;
    const bool is_start = experiment.traits_of(checkpoint.method).is_start;
    const bool is_of_second_view = experiment.table.has_second_view() && !checkpoint.selected;
    const bool shown =
        is_start || checkpoint.selected || model.every_checkpoint || (split == "test" && !is_of_second_view);
    if (!shown) continue;
    auto& rows = is_start ? model.reference : model.rows;
    rows.push_back(table_row(scores, checkpoint, model.by_tag));
    rows.back().selected = checkpoint.selected || !model.every_checkpoint;
    if (with_budget && !is_start) rows.back().tau = tau_of(store, checkpoint.run_id);
    if (!is_start) rows.back().spent = spent_at(store, experiment, checkpoint);
    if (const auto run = runs.find(checkpoint.run_id); run != runs.end() && !is_start)
      rows.back().metrics.merge(training_columns(store, experiment, run->second));
  }
  share_budget(model.rows);
  model.chosen_on_split = experiment.chooses_on(split);
  auto warnings = copies_notes(checkpoints, split);
  std::ranges::move(runs_alike_notes(scores, experiment, checkpoints, split), std::back_inserter(warnings));
  warnings.push_back(end_note(scores, experiment, checkpoints, compared_arms(experiment), split,
                              named_by_table(experiment.table, metrics_of(store, checkpoints))));
  for (auto& warning : warnings) model.notes.push_back({.text = std::move(warning), .warns = true});
  const auto is_given = [&](const std::string& row) { return !experiment.traits_of(row).draws; };
  if (!model.images_are_given && std::ranges::any_of(experiment.methods, is_given))
    model.notes.push_back({"W / T / L of rows that were drawn elsewhere: prompts, each by its mean."});
}

void fill_training_table(Store& store, const Experiment& experiment, const std::string& window_unit,
                         TableModel& model) {
  model.over_training = true;
  model.rows = training_rows(store, experiment, window_unit);
  model.comparisons = training_comparisons(experiment, model.columns, model.rows);
  model.notes.insert(model.notes.begin(), TableNote{window_note(experiment, window_unit)});
  if (experiment.effective.settings.value("inner_epochs", 1) > 1) {
    model.notes.push_back(
        {.text =
             "Samples are used several times here (inner_epochs). Those that were trained on correlate with "
             "the policy's move, and the variance of their log-ratio exceeds the law's. The law itself is "
             "checked on fresh samples alone; a run that breaks it is named here.",
         .for_operator = "See `harness query law`, `harness figure law-audit`."});
  }
}

/// Where the paper's printed figures of this table, or of its task there, contradict one another.
void add_audit_note(const std::string& paper_table, TableModel& model) {
  const auto subject = paper_table + ": " + model.paper_task;
  const auto found = texts_of(audit_paper(), [&](const auto& finding) -> std::string {
    if (finding.verdict != PaperVerdict::kDoesNotAddUp || !finding.name.starts_with(subject)) return {};
    return fmt::format("{}: printed {}, computed from its cells {} ({})",
                       finding.name.substr(paper_table.size() + 2), finding.printed, finding.computed,
                       finding.message);
  });
  if (found.empty()) return;
  model.notes.push_back({.text = fmt::format("The paper's own figures do not add up. {}.", join(found, "; ")),
                         .for_operator = "See `harness check --paper`."});
}

void load_paper(const TableSpec& spec, TableModel& model) {
  if (!spec.reproduces.empty()) model.paper = load_paper_table(spec.reproduces);
  model.levels_compare = spec.levels_compare;
  model.paper_rows = spec.paper_rows;
  const bool of_several_tasks =
      model.paper && !model.paper->rows.empty() && !model.paper->rows.front().task.empty();
  if (of_several_tasks) model.paper_task = spec.paper_task;
  if (model.paper) add_audit_note(spec.reproduces, model);
}

/// What the paper says: `stated` by the table's file and decided already, and its printed differences,
/// decided by the comparisons as they are now.
void decide(std::vector<TableClaim> stated, TableModel& model) {
  model.claims = std::move(stated);
  for (auto& claim : printed_differences(model)) model.claims.push_back(std::move(claim));
  if (model.scale_warning.empty()) return;
  for (auto& claim : model.claims) {
    claim.judged = false;
    claim.holds.reset();
  }
}

/// The column that the table of several tasks shows under one of its headings.
const TableColumn& collected(const Experiment& experiment, const TableModel& model, const std::string& name) {
  // Its own file's name for it, whatever stands in there.
  const auto found = std::ranges::find_if(model.columns, [&](const TableColumn& column) {
    return (column.stands_for.empty() ? column.key : column.stands_for) == name;
  });
  if (found != model.columns.end()) return *found;
  throw Error(fmt::format("experiment {} of {} has no column {}", experiment.id, model.id, name),
              "the collection that joins it", "repeat `harness reproduce` with the tables as they are now");
}

/// Leaves out what the table of several tasks does not show of one of them.
void keep_collected(const Collection& collection, const Experiment& experiment, TableModel& model) {
  std::vector<TableColumn> columns;
  for (const auto& column : collection.columns)
    columns.push_back(collected(experiment, model, column.of.at(model.id)));
  const auto shown = [&](const std::string& metric) {
    return std::ranges::any_of(
        columns, [&](const TableColumn& column) { return column.key == metric || column.std_of == metric; });
  };
  std::erase_if(model.comparisons, [&](const Comparison& c) { return !shown(c.metric); });
  for (const auto& column : model.columns) {
    if (!shown(column.key)) model.metrics.push_back(column);
  }
  std::erase_if(model.not_run, [&](const auto& entry) { return !shown(entry.first); });
  for (auto* rows : {&model.reference, &model.rows}) {
    for (auto& row : *rows) std::erase_if(row.metrics, [&](const auto& m) { return !shown(m.first); });
  }
  model.columns = std::move(columns);
}

/// A heading has the direction and the unit that all columns below it have.
TableColumn heading(const CollectedColumn& column, const std::vector<TableModel>& parts, std::size_t i) {
  const auto& first = parts.front().columns.at(i);
  const auto agrees = [&](auto field) {
    return std::ranges::all_of(
        parts, [&](const TableModel& part) { return part.columns.at(i).*field == first.*field; });
  };
  return {.key = column.title,
          .title = column.title,
          .unit = agrees(&TableColumn::unit) ? first.unit : Unit::kFraction,
          .better = agrees(&TableColumn::better) ? first.better : Better::kNone};
}

/// Why a scale shows nothing, of all parts or of those that give a reason.
std::string warning_of(const std::vector<TableModel>& parts) {
  std::vector<std::string> warnings;
  const auto& first = parts.front().scale_warning;
  if (std::ranges::all_of(parts, [&](const TableModel& part) { return part.scale_warning == first; }))
    return first;
  for (const auto& part : parts) {
    if (!part.scale_warning.empty()) warnings.push_back(fmt::format("{}: {}", part.task, part.scale_warning));
  }
  return join(warnings, " ");
}

/// States for each column of a training statistic what it is the mean of.
void describe_statistics(const Experiment& experiment, TableModel& model) {
  for (std::size_t i = 0; i < model.columns.size(); ++i) {
    if (!experiment.table.columns[i].is_statistic()) continue;
    auto& note = model.columns[i].note;
    const bool all = experiment.table.columns[i].statistic.on_policy_too;
    note += fmt::format("{}mean over {}{}", note.empty() ? "" : ", ", all ? "" : "the off-policy ones of ",
                        window_text(experiment));
  }
}

}  // namespace

std::string scale_warning_of(const Experiment& experiment) {
  if (experiment.judges_methods()) return {};
  return scale_note(experiment.table.scales.at(experiment.scale));
}

TableModel make_table_model(Store& store, const Experiment& experiment, const std::string& window_unit,
                            bool is_complete) {
  const auto& spec = experiment.table;
  const auto split = experiment.shown_split();
  TableModel model;
  model.id = experiment.table_id;
  model.title = spec.title;
  model.task = spec.task;
  model.backbone = experiment.backbone;
  model.backbone_note = note_of_backbone(model.backbone);
  model.images_are_given = !draws_images(model.backbone);
  model.more_runs = experiment.more_runs();
  model.scale = experiment.scale;
  model.split = split;
  model.signature = experiment.signature;
  model.columns = columns_of(spec);
  model.metrics = metrics_without_column(spec);
  model.by_tag = spec.by_tag;
  model.every_checkpoint = spec.shown.every_checkpoint;
  model.baseline = experiment.effective.baseline;
  model.scale_warning = scale_warning_of(experiment);
  model.notes = recorded_notes(store, experiment, split, model.scale_warning);
  model.notes.push_back(reopened_note(store, experiment));
  model.notes.push_back(variants_note(store, experiment));
  model.fuller_note = fuller_note(store, experiment);
  if (spec.is_training()) {
    fill_training_table(store, experiment, window_unit, model);
    ScoreReader scores(store);
    model.families = families_of(scores, experiment, split, model.comparisons);
    judge_comparisons(model);
  } else {
    describe_statistics(experiment, model);
    ScoreReader scores(store);
    fill_evaluation_table(scores, experiment, split, model);
    model.comparisons = table_comparisons(scores, experiment, split, is_complete);
    model.families = families_of(scores, experiment, split, model.comparisons);
    judge_comparisons(model);
    model.leaderboard = leaderboard_of(scores, experiment, model, model.comparisons);
    heed_leaderboard(model);
    // All comparisons guard; the table itself shows those of the metrics that it names.
    model.guardrails = guardrail_panel_of(experiment, model.comparisons);
    keep_named_metrics(experiment, model.comparisons);
    if (split != "validation") add_validation_deltas(store, experiment, model.comparisons);
  }
  load_paper(spec, model);
  for (const auto& [name, path] : rows_of<std::string, std::string>(
           store, "SELECT name, path FROM artifacts WHERE reproduction_id = ?1", experiment.id))
    model.artifacts[name] = path;
  model.wall_seconds = experiment.wall_seconds;
  model.experiment = experiment.id;
  decide(decide_claims(experiment, model), model);
  return model;
}

TableModel make_collection_model(const Collection& collection, const std::vector<Experiment>& experiments,
                                 std::vector<TableModel> parts) {
  std::vector<std::string> commands;
  std::vector<std::vector<TableClaim>> stated;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    stated.push_back(decide_claims(experiments[i], parts[i]));
    keep_collected(collection, experiments[i], parts[i]);
    commands.push_back(fmt::format("`harness table {}`", parts[i].id));
  }
  const auto& first = parts.front();
  TableModel whole;
  whole.id = collection.id;
  whole.title = collection.title;
  whole.backbone = join(distinct_of(parts, &TableModel::backbone), ", ");
  whole.scale = first.scale;
  whole.split = first.split;
  whole.baseline = first.baseline;
  whole.scale_warning = warning_of(parts);
  for (const auto& part : parts) {
    for (const auto& [name, path] : part.artifacts) whole.artifacts[part.id + "/" + name] = path;
  }
  for (std::size_t i = 0; i < collection.columns.size(); ++i)
    whole.columns.push_back(heading(collection.columns[i], parts, i));
  for (const auto& note : collection.notes) whole.notes.push_back({note});
  whole.notes.push_back(
      {.text = "The adjusted p of a task's own table is over that table alone.",
       .for_operator = fmt::format("Further metrics, comparisons and guardrails of each task: {}.",
                                   join(commands, ", "))});
  put_together(whole, std::move(parts));
  for (std::size_t i = 0; i < experiments.size(); ++i) decide(std::move(stated[i]), whole.parts[i]);
  return whole;
}

}  // namespace harness
