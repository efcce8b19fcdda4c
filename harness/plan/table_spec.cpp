#include "harness/plan/table_spec.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/algorithm/string/replace.hpp>
#include <cctype>
#include <cstdlib>
#include <ranges>
#include <set>

#include "core/command_line/recorded_path.h"
#include "core/error.h"
#include "core/files.h"
#include "core/text.h"
#include "datasets/prompt_set.h"
#include "harness/plan/workspace.h"
#include "harness/terminal/output.h"
#include "results/grid/grid.h"

namespace harness {
namespace fs = std::filesystem;
namespace {

/// Columns that belong to a checkpoint rather than to a metric.
const std::vector<MetricInfo> kCheckpointColumns = {
    {.name = "lambda_late", .title = "Lambda_late", .better = "lower", .decimals = 6},
    {.name = "tau_share", .title = "Share of tau", .unit = "percent", .decimals = 1}};

/// What a statistic has a value of, and its good direction; where it has none a table may state one.
enum Of { kUpdate = 1, kStep = 2, kBoth = 3 };
struct KnownStatistic {
  std::string name, better;
  Of of;
};

/// Statistics that every training, or a method of this build, stores (trainers/METRICS.md).
const std::vector<KnownStatistic> kStatistics = {
    {"lambda_late", "lower", kUpdate},     {"clip_fraction", "lower", kBoth},
    {"damped_share", "none", kUpdate},     {"reward_mean", "higher", kUpdate},
    {"reward_std", "none", kUpdate},       {"zero_std_groups", "none", kUpdate},
    {"missing_rewards", "lower", kUpdate}, {"loss", "none", kUpdate},
    {"penalty", "none", kUpdate},          {"dual_beta", "none", kUpdate},
    {"on_policy_slope", "none", kUpdate},  {"off_policy_slope", "none", kUpdate},
    {"grad_norm", "none", kUpdate},        {"clip_coefficient", "none", kUpdate},
    {"update_norm", "none", kUpdate},      {"grad_norm_undamped", "none", kUpdate},
    {"damping_undone", "none", kUpdate},   {"samples_left_out", "none", kUpdate},
    {"loss_scale", "none", kUpdate},       {"step_skipped", "lower", kUpdate},
    {"rounding_late", "lower", kUpdate},   {"lambda_rounding", "lower", kStep},
    {"ema_lag", "none", kUpdate},          {"ema_start_share", "none", kUpdate},
    {"lambda_center", "lower", kStep},     {"lambda_var", "lower", kStep},
    {"log_ratio_mean", "none", kStep},     {"log_ratio_var", "lower", kStep},
    {"predicted_var", "none", kStep},      {"drift_error", "none", kStep},
    {"drift_error_sq", "lower", kStep},    {"var_error", "none", kStep},
    {"var_error_sq", "lower", kStep},      {"ratio_median", "none", kStep},
    {"step_ess", "higher", kStep},         {"path_ess", "higher", kStep},
    {"lambda_weight", "none", kStep},      {"lambda_velocity", "lower", kStep},
    {"images", "none", kUpdate},           {"nfe_forward", "none", kUpdate},
    {"nfe_backward", "none", kUpdate},     {"velocity_movement", "none", kUpdate},
    {"trained_units", "none", kUpdate},    {"trained_steps", "none", kUpdate},
    {"policy_loss", "none", kUpdate},      {"group_weight", "none", kUpdate},
    {"implicit_reward", "none", kUpdate},  {"dpo_margin", "none", kUpdate},
    {"dpo_accuracy", "none", kUpdate},     {"matching_error", "none", kUpdate}};

const MetricInfo* of_checkpoint(const std::string& column) {
  const auto found = std::ranges::find(kCheckpointColumns, column, &MetricInfo::name);
  return found == kCheckpointColumns.end() ? find_budget_column(column) : &*found;
}

template <class T>
void require_distinct(const std::vector<T>& values, const std::string& what, const std::string& where) {
  refuse_unless(std::set<T>(values.begin(), values.end()).size() == values.size(), what + " must differ",
                where);
}

/// The field under `key` where there is one; else `into` stays as it is.
template <class T>
void read(Fields& fields, const std::string& key, T& into) {
  into = fields.optional<T>(key, std::move(into));
}
template <class T>
void read(Fields& fields, const std::string& key, std::optional<T>& into) {
  if (fields.has(key)) into = fields.required<T>(key);
}

void read_settings(Fields& fields, Json& into) {
  read(fields, "settings", into);
  refuse_unless(into.is_object(), "must be an object", fields.where() + ": settings");
}

/// A list of numbers, none of which may have a fraction.
template <class T>
std::vector<T> whole_numbers(Fields& fields, const std::string& key) {
  const Json& list = fields.get(key);
  refuse_unless(
      list.is_array() && std::ranges::all_of(list, [](const Json& e) { return e.is_number_integer(); }),
      "must be a list of whole numbers", fields.where() + ": " + key);
  return list.get<std::vector<T>>();
}

std::vector<int> read_checkpoints(Fields& fields) {
  const auto where = fields.where() + ": checkpoints";
  const auto checkpoints = whole_numbers<int>(fields, "checkpoints");
  refuse_unless(!checkpoints.empty(), "needs at least one checkpoint", where);
  refuse_unless(checkpoints.front() > 0, "checkpoints count updates from 1", where);
  refuse_unless(std::ranges::adjacent_find(checkpoints, std::greater_equal<>()) == checkpoints.end(),
                "checkpoints must increase", where);
  return checkpoints;
}

const KnownStatistic* find_statistic(const std::string& name) {
  const auto found = std::ranges::find(kStatistics, name, &KnownStatistic::name);
  return found == kStatistics.end() ? nullptr : &*found;
}

/// A misspelt statistic would give a column of dashes after hours of training.
void check_statistic(const StatisticSpec& statistic, const std::string& where) {
  if (statistic.of_method) return;
  const auto& name = statistic.name;
  const auto* known = find_statistic(name);
  refuse_unless(known != nullptr, fmt::format("no training stores a statistic \"{}\"", name), where,
                suggestion(name, names_of(kStatistics)) +
                    "; one that a method of your own stores needs \"of_method\": true beside it");
  refuse_unless(statistic.timestep || known->of != kStep,
                fmt::format("\"{}\" has one value per timestep", name), where, "add \"timestep\": K, from 0");
  refuse_unless(!statistic.timestep || known->of != kUpdate,
                fmt::format("\"{}\" is a statistic of the whole update and has no timesteps", name), where,
                "leave \"timestep\" out");
}

/// What is known of a column whatever its table says.
struct KnownColumn {
  MetricInfo info;
  std::string source = {};  ///< who says so; empty: nobody
  bool is_fixed = false;    ///< direction and unit are its metric's and no table's
};

KnownColumn known_statistic(const ColumnSpec& column) {
  KnownColumn known{.info = {.name = column.name, .title = column.name}};
  if (column.statistic.of_method) return known;
  known.info.better = find_statistic(column.statistic.name)->better;
  if (known.info.better != "none") known.source = "training statistic " + column.statistic.name;
  return known;
}

/// How columns are read: `metrics`, what is known of metrics; `source`, whether the table is a record.
struct ColumnReading {
  TableKind kind;
  const MetricCatalogue& metrics;
  SpecSource source;
};

KnownColumn known_column(const ColumnSpec& column, const ColumnReading& reading) {
  const auto& metrics = reading.metrics;
  if (reading.kind == TableKind::kTraining) {
    const auto* recorded = reading.source != SpecSource::kFile ? metrics.find(column.name) : nullptr;
    if (recorded == nullptr) return known_statistic(column);
    return {.info = *recorded, .source = recorded->source, .is_fixed = true};
  }
  if (column.is_statistic()) return known_statistic(column);
  const bool was_metric = reading.source != SpecSource::kFile && metrics.find(column.name) != nullptr;
  if (const auto* info = of_checkpoint(column.name); info != nullptr && !was_metric)
    return {.info = *info, .source = "column of a checkpoint", .is_fixed = true};
  const auto& metric = column.std_of.empty() ? column.name : column.std_of;
  const auto* info = metrics.find(metric);
  if (info == nullptr) return {.info = {.name = column.name, .title = column.name}};
  if (column.std_of.empty()) return {.info = *info, .source = info->source, .is_fixed = true};
  // A spread has its metric's unit, and no good direction of its own.
  return {
      .info = {.name = column.name, .title = column.name, .unit = info->unit, .decimals = info->decimals}};
}

/// A direction or unit (`key`) that a table states must be the metric's own; `fact` says which that is.
void require_as_known(const std::string& stated, const std::string& own, const char* key,
                      const std::string& fact, const KnownColumn& known, const std::string& place) {
  const bool may_state =
      known.source.empty() || stated == own || (!known.is_fixed && (stated == "none" || own == "none"));
  refuse_unless(may_state,
                fmt::format("\"{}\" contradicts {}, {} ({})", stated, known.info.name, fact, known.source),
                place + "." + key, fmt::format("leave \"{}\" out", key));
}

/// Direction and unit of a column of a table, from what is known and what the table states.
void describe_column(Fields& fields, const KnownColumn& known, SpecSource source, ColumnSpec& column) {
  const bool is_record = source != SpecSource::kFile;
  column.title = fields.optional<std::string>("title", known.info.title);
  column.decimals = fields.optional<int>("decimals", known.info.decimals);
  column.unit = fields.optional<std::string>("unit", known.info.unit);
  column.better = fields.optional<std::string>("better", known.info.better);
  require_metric_unit(column.unit, fields.where());
  require_metric_direction(column.better, fields.where());
  require_decimals(column.decimals, fields.where());
  if (is_record) {
    const bool takes_no_side = !known.is_fixed && column.better == "none";
    if (!known.source.empty() && !takes_no_side) column.better = known.info.better;
    return;
  }
  require_as_known(column.better, known.info.better, "better",
                   "for which " + direction_text(known.info.better), known, fields.where());
  if (known.is_fixed)
    require_as_known(column.unit, known.info.unit, "unit", fmt::format("whose unit is {}", known.info.unit),
                     known, fields.where());
}

ColumnSpec read_column(const Json& value, const ColumnReading& reading, const std::string& where) {
  Fields fields(value, where);
  ColumnSpec column;
  column.name = fields.required<std::string>("name");
  read(fields, "paper", column.paper);
  read(fields, "note", column.note);
  if (reading.kind == TableKind::kTraining || fields.has("stat")) {
    column.statistic.name = fields.optional<std::string>("stat", column.name);
    read(fields, "timestep", column.statistic.timestep);
    read(fields, "on_policy_too", column.statistic.on_policy_too);
    read(fields, "of_method", column.statistic.of_method);
    check_statistic(column.statistic, where + (fields.has("stat") ? ": stat" : ": name"));
    refuse_unless(column.statistic.timestep.value_or(0) >= 0, "timesteps count from 0", where + ": timestep");
  } else {
    read(fields, "std_of", column.std_of);
  }
  const auto known = known_column(column, reading);
  describe_column(fields, known, reading.source, column);
  if (column.note.empty() && !column.is_statistic() && find_budget_column(column.name) != nullptr)
    column.note = known.info.help;
  fields.finish();
  return column;
}

ScaleSpec read_scale(const std::string& name, Fields fields) {
  ScaleSpec scale;
  scale.name = name;
  read(fields, "note", scale.note);
  read(fields, "notes", scale.notes);
  read(fields, "judges", scale.judges);
  refuse_unless(scale.judges || !scale.note.empty(), "needs a note with the reason",
                fields.where() + ": judges");
  if (fields.has("checkpoints")) scale.checkpoints = read_checkpoints(fields);
  if (fields.has("limit")) {
    Fields limit = fields.object("limit");
    read(limit, "validation", scale.validation_limit);
    read(limit, "test", scale.test_limit);
    limit.finish();
    refuse_unless(scale.validation_limit.value_or(1) > 0 && scale.test_limit.value_or(1) > 0,
                  "limits must be positive", limit.where());
  }
  if (fields.has("prompts")) {
    Fields prompts = fields.object("prompts");
    const bool is_of_training_alone = prompts.has("train") && !prompts.has("set");
    if (!is_of_training_alone) scale.prompt_set = prompts.required<std::string>("set");
    read(prompts, "train", scale.train_prompt_set);
    prompts.finish();
  }
  read_settings(fields, scale.settings);
  fields.finish();
  return scale;
}

int read_prompts_first(Fields& fields, int fewest = 2) {
  const int first = fields.required<int>("first");
  refuse_unless(first >= fewest, fmt::format("must be at least {}", fewest), fields.where() + ": first");
  return first;
}

/// The name of a set that travels inside the program.
void read_own_set(Fields& fields, const char* key, std::string& name) {
  if (!fields.has(key)) return;
  name = fields.required<std::string>(key);
  const auto where = fields.where() + ": " + key;
  require_own_prompt_set(name, where);
  refuse_unless(task_of_set(name) == kOcrPrompts,
                name + " holds records of GenEval, which have their own default", where, "leave it out");
}

void read_prompts(TableSpec& spec, Fields fields) {
  // Nothing is selected where every image is of one checkpoint: then one prompt will do.
  read(fields, "with_images_only", spec.with_images_only);
  spec.prompts_first = read_prompts_first(fields, spec.with_images_only ? 1 : 2);
  read(fields, "set", spec.prompt_set);
  read_own_set(fields, "default", spec.default_prompts);
  read_own_set(fields, "default_train", spec.default_training_prompts);
  read(fields, "samples", spec.samples);
  fields.finish();
  refuse_unless(spec.samples >= 1, "must be at least 1", fields.where() + ": samples");
}

/// {"seed": S, "take": K} or {"first": K}
SplitRule read_split(Fields fields) {
  SplitRule rule;
  const bool is_drawn = !fields.has("first");
  for (const auto* other : {"seed", "take"}) {
    if (is_drawn || !fields.has(other)) continue;
    throw Error(
        fmt::format("has both \"first\" and \"{}\", which may come from the table that it extends", other),
        fields.where(), "take the first so many with {\"first\": N, \"seed\": null, \"take\": null}");
  }
  if (is_drawn) rule.seed = fields.required<std::uint64_t>("seed");
  rule.take = fields.required<int>(is_drawn ? "take" : "first");
  fields.finish();
  return rule;
}

bool selects(const TableSpec& spec) {
  return spec.has_base || std::ranges::any_of(spec.methods, [&](const auto& name) {
           const auto arm = spec.arm(name);
           return !arm.is_images() || std::ranges::any_of(arm.places, has_steps);
         });
}

/// Where nothing is selected, as all rows are images of one checkpoint, every prompt may be for test.
void require_two_splits(const SplitRule& rule, int prompts, bool selects, const std::string& where) {
  if (!selects && !rule.seed && rule.take == 0) return;
  refuse_unless(rule.take > 0 && rule.take < prompts,
                fmt::format("must be between 1 and {}, so that both splits hold prompts", prompts - 1),
                where + (rule.seed ? ": take" : ": first"));
}

void read_selection(TableSpec& spec, Fields fields) {
  read(fields, "split", spec.selection.split);
  spec.selection.metric = fields.required<std::string>("metric");
  read(fields, "rule", spec.selection.rule);
  fields.finish();
  require_choice(spec.selection.split, {"validation"}, "split", fields.where() + ": split");
  require_choice(spec.selection.rule, {"max-mean"}, "rule", fields.where() + ": rule");
}

void read_metrics(TableSpec& spec, Fields fields) {
  spec.required_metrics = fields.required<std::vector<std::string>>("required");
  read(fields, "optional", spec.optional_metrics);
  fields.finish();
  refuse_unless(!spec.required_metrics.empty(), "needs at least one metric", fields.where() + ": required");
  require_distinct(spec.metrics(), "metrics", fields.where());
}

void read_backbone_prompts(const TableSpec& spec, Fields& fields, BackboneSpec& changes) {
  if (!fields.has("prompts") && !fields.has("split")) return;
  refuse_unless(!spec.is_training(), "a training table evaluates no prompts", fields.where());
  if (fields.has("prompts")) {
    auto prompts = fields.object("prompts");
    changes.prompts_first = read_prompts_first(prompts);
    prompts.finish();
  }
  if (fields.has("split")) changes.split = read_split(fields.object("split"));
  require_two_splits(changes.split.value_or(spec.split), changes.prompts_first.value_or(spec.prompts_first),
                     true, fields.where() + ": split");
}

BackboneSpec read_backbone_changes(const TableSpec& spec, Fields& fields) {
  BackboneSpec changes;
  read(fields, "title", changes.title);
  read(fields, "task", changes.task);
  read(fields, "notes", changes.notes);
  refuse_unless(!spec.is_training() || !(fields.has("stands_in") || fields.has("metrics")),
                "a training table has no metrics", fields.where());
  read_backbone_prompts(spec, fields, changes);
  if (fields.has("stands_in")) {
    Fields stands_in = fields.object("stands_in");
    for (const auto& metric : stands_in.keys()) {
      require_choice(metric, spec.metrics(), "metric of this table", stands_in.where());
      changes.stands_in[metric] = stands_in.required<std::string>(metric);
    }
  }
  if (!fields.has("metrics")) return changes;
  Fields metrics = fields.object("metrics");
  read(metrics, "required", changes.required_metrics);
  read(metrics, "optional", changes.optional_metrics);
  metrics.finish();
  return changes;
}

void read_backbones(TableSpec& spec, Fields fields) {
  for (const auto& name : fields.keys()) {
    Fields backbone = fields.object(name);
    read_settings(backbone, spec.backbone_settings.try_emplace(name, Json::object()).first->second);
    spec.backbones[name] = read_backbone_changes(spec, backbone);
    backbone.finish();
  }
}

void read_shown(TableSpec& spec, Fields fields) {
  read(fields, "split", spec.shown.split);
  const auto checkpoints = fields.optional<std::string>("checkpoints", "selected");
  fields.finish();
  require_choice(spec.shown.split, {"test", "validation"}, "split", fields.where() + ": split");
  require_choice(checkpoints, {"selected", "every"}, "choice of checkpoints",
                 fields.where() + ": checkpoints");
  spec.shown.every_checkpoint = checkpoints == "every";
  refuse_unless(!spec.shown.every_checkpoint || spec.shown.split == "validation",
                "only the selected checkpoint may see the test split", fields.where() + ": checkpoints",
                "\"split\": \"validation\" shows every checkpoint");
}

void read_grid(TableSpec& spec, Fields fields) {
  read(fields, "pick", spec.grid.pick);
  read(fields, "rows", spec.grid.rows);
  fields.finish();
  refuse_unless(!spec.grid.pick.empty(), "needs at least one group", fields.where() + ": pick");
  for (const auto& group : spec.grid.pick)
    require_choice(group, grid_group_names(), "group", fields.where() + ": pick");
  refuse_unless(spec.grid.rows >= 1 && spec.grid.rows <= 200, "must be 1 to 200", fields.where() + ": rows");
}

/// {"groups": true, "second_view": "nfe_total"}
void read_leaderboard(TableSpec& spec, Fields fields) {
  auto& board = spec.leaderboard.emplace();
  read(fields, "groups", board.groups);
  if (fields.has("second_view")) {
    const auto view = fields.required<std::string>("second_view");
    require_choice(view, {"nfe_total"}, "second view", fields.where() + ": second_view");
    refuse_unless(spec.tests(), "tests a further checkpoint of each run, and this table tests none",
                  fields.where() + ": second_view", "leave it out, or show the test split");
    board.second_view = true;
  }
  fields.finish();
}

void read_window(TableSpec& spec, Fields fields) {
  read(fields, "last", spec.window.last);
  read(fields, "unit", spec.window.unit);
  fields.finish();
  refuse_unless(spec.window.last > 0, "must be positive", fields.where() + ": last");
  require_choice(spec.window.unit, {"updates", "epochs"}, "unit", fields.where() + ": unit");
}

/// A row: the name of a method, or {"name", "method", "settings", "paper"}.
void read_row(TableSpec& spec, const Json& value, const std::string& where) {
  if (value.is_string()) {
    spec.methods.push_back(value.get<std::string>());
    return;
  }
  Fields fields(value, where);
  ArmSpec arm;
  const char* outside = fields.has("adapters") ? "adapters" : fields.has("images") ? "images" : nullptr;
  if (outside != nullptr) {
    arm.method = fields.has("adapters") ? kOutsideMethod : kImagesMethod;
    arm.name = fields.required<std::string>("name");
    arm.places = fields.required<std::vector<std::string>>(outside);
    refuse_unless(!arm.places.empty(), "needs a folder or file for each run", where + ": " + outside);
  } else {
    arm.method = fields.required<std::string>("method");
    arm.name = fields.optional<std::string>("name", arm.method);
  }
  read_settings(fields, arm.settings);
  const auto paper = fields.optional<std::string>("paper", "");
  fields.finish();
  refuse_unless(!arm.name.empty() && arm.name.find_first_of(",=") == std::string::npos,
                "must be a name without , and =", where + ": name");
  if (!paper.empty()) spec.paper_rows[arm.name] = paper;
  spec.methods.push_back(arm.name);
  spec.arms[arm.name] = std::move(arm);
}

void read_rows(TableSpec& spec, const Json& rows, const std::string& where) {
  refuse_unless(rows.is_array(), "must be a list of methods", where);
  for (std::size_t i = 0; i < rows.size(); ++i) read_row(spec, rows[i], fmt::format("{}[{}]", where, i));
}

/// "tuning": runs spent to choose the settings of each method, one number for all rows or one a row.
void read_tuning(TableSpec& spec, Fields& fields) {
  const auto where = fields.where() + ": tuning";
  const Json& value = fields.get("tuning");
  const auto put = [&](const std::string& row, const Json& runs, const std::string& place) {
    refuse_unless(runs.is_number_integer() && runs.get<std::int64_t>() >= 0, "must be a number of runs",
                  place);
    spec.tuning[row] = runs.get<std::int64_t>();
  };
  if (!value.is_object()) {
    for (const auto& row : spec.methods) put(row, value, where);
    return;
  }
  for (const auto& [row, runs] : value.items()) {
    require_choice(row, spec.methods, "row", where);
    put(row, runs, where + "." + row);
  }
}

ClaimSpec read_claim(const Json& value, const std::string& where) {
  Fields fields(value, where);
  ClaimSpec claim{.text = fields.required<std::string>("claim"),
                  .rule = fields.required<std::string>("rule"),
                  .column = fields.required<std::string>("column"),
                  .method = fields.optional<std::string>("method", ""),
                  .against = fields.required<std::string>("against"),
                  .bound = fields.optional<double>("bound", 0),
                  .factor = fields.optional<double>("factor", 1)};
  fields.finish();
  // harness/show/training_table.cpp decides them.
  require_choice(claim.rule,
                 {"ratio-at-most", "within", "lower-on-every-seed", "higher-on-every-seed", "columns-agree"},
                 "rule", where + ": rule");
  return claim;
}

void require_row(const TableSpec& spec, const std::string& row, const std::string& where) {
  refuse_unless(
      std::ranges::count(spec.methods, row) > 0,
      fmt::format("names the row \"{}\", which is not among this table's methods", row), where,
      fmt::format("methods: {}; give other claims, or \"claims\": [] for none", join(spec.methods, ", ")));
}

void read_claims(TableSpec& spec, const Json& claims, const std::string& where) {
  refuse_unless(claims.is_array(), "must be a list of claims", where);
  const auto columns = names_of(spec.columns);
  for (std::size_t i = 0; i < claims.size(); ++i) {
    const auto place = fmt::format("{}[{}]", where, i);
    const auto& claim = spec.claims.emplace_back(read_claim(claims[i], place));
    require_choice(claim.column, columns, "column", place + ": column");
    if (claim.rule == "columns-agree") {
      require_choice(claim.against, columns, "column", place + ": against");
    } else {
      require_row(spec, claim.against, place + ": against");
      require_row(spec, claim.method, place + ": method");
    }
  }
}

bool is_metric(const TableSpec& spec, const std::string& name) {
  return spec.metric_catalogue.find(name) != nullptr || std::ranges::count(reserved_metrics(), name) > 0;
}

/// Where a metric is missing, a misspelt name in the table's lists of metrics is the fault.
void require_no_misspelling_of(const TableSpec& spec, const std::string& metric) {
  if (!is_metric(spec, metric)) return;
  auto meant = spec.metric_catalogue.names();
  meant.insert(meant.begin(), metric);
  const auto check = [&](const std::vector<std::string>& listed, const char* list) {
    for (std::size_t i = 0; i < listed.size(); ++i) {
      if (is_metric(spec, listed[i]) || meant_by(listed[i], meant).empty()) continue;
      throw Error(fmt::format("unknown metric \"{}\"", listed[i]),
                  fmt::format("{}: metrics.{}[{}]", spec.file.string(), list, i),
                  suggestion(listed[i], meant));
    }
  };
  check(spec.required_metrics, "required");
  check(spec.optional_metrics, "optional");
}

/// What may have been meant: one of `columns` by name or heading, or a metric that an evaluator gives.
std::string column_hint(const TableSpec& spec, const std::string& name,
                        const std::vector<std::string>& columns) {
  std::vector<std::string> known;
  for (const auto& column : columns) {
    const auto* metric = of_checkpoint(column);
    if (metric == nullptr) metric = spec.metric_catalogue.find(column);
    if (metric == nullptr) continue;
    known.push_back(column);
    if (plain_name(name) == plain_name(column) || plain_name(name) == plain_name(metric->title))
      return fmt::format("did you mean \"{}\"?", column);
  }
  const auto metrics = spec.metric_catalogue.names();
  const auto metric = nearest(name, metrics);
  if (!nearest(name, known) && metric) {
    return fmt::format(
        "did you mean \"{}\"? The table does not measure it: name it in metrics.required or "
        "metrics.optional as well",
        *metric);
  }
  return suggestion(name, known);
}

void check_whole(const TableSpec& spec) {
  const auto where = spec.file.string();
  refuse_unless(!spec.methods.empty(), "needs at least one method", where + ": methods");
  require_distinct(spec.methods, "methods", where + ": methods");
  refuse_unless(!spec.seeds.empty(), "needs at least one seed", where + ": seeds");
  require_distinct(spec.seeds, "seeds", where + ": seeds");
  constexpr std::int64_t kLargestSeed = 0xFFFFFFFF;
  refuse_unless(std::ranges::all_of(spec.seeds, [](auto seed) { return seed >= 0 && seed <= kLargestSeed; }),
                fmt::format("seeds are 0 to {}", kLargestSeed), where + ": seeds");
  refuse_unless(std::ranges::count(spec.methods, spec.baseline) > 0,
                in_quotes(spec.baseline) + " is not among the methods", where + ": baseline",
                suggestion(spec.baseline, spec.methods) +
                    "; a table that extends another one has its baseline until it gives one");
  for (const auto& [name, arm] : spec.arms) {
    refuse_unless(arm.is_trained() || !spec.is_training(),
                  fmt::format("row \"{}\" was made elsewhere: there are no statistics of its training", name),
                  where + ": methods", "such rows are for evaluation tables");
  }
  if (spec.is_training()) return;
  if (std::ranges::count(spec.required_metrics, spec.selection.metric) == 0)
    require_no_misspelling_of(spec, spec.selection.metric);
  require_choice(spec.selection.metric, spec.required_metrics, "metric (it must be a required one)",
                 where + ": selection.metric");
  auto column_names = spec.metrics();
  for (const auto* columns : {&kCheckpointColumns, &budget_columns()})
    for (const auto& column : *columns) column_names.push_back(column.name);
  for (std::size_t i = 0; i < spec.columns.size(); ++i) {
    const auto place = fmt::format("{}: columns[{}]", where, i);
    const auto& column = spec.columns[i];
    if (column.is_statistic()) {
      const bool is_checkpoints_own = column.name == "clip_fraction" || of_checkpoint(column.name) != nullptr;
      refuse_unless(!is_checkpoints_own && std::ranges::count(column_names, column.name) == 0 &&
                        !is_metric(spec, column.name),
                    fmt::format("\"{}\" is the name of a column of its own", column.name), place + ": name");
    } else if (column.std_of.empty()) {
      if (std::ranges::count(column_names, column.name) == 0) require_no_misspelling_of(spec, column.name);
      refuse_unless(!is_metric(spec, column.name) || spec.names(column.name),
                    fmt::format("shows the metric {}, which is not among the table's metrics ({})",
                                column.name, join(spec.metrics(), ", ")),
                    place, "name it in metrics.required or metrics.optional, or give \"columns\" without it");
      refuse_unless(std::ranges::count(column_names, column.name) > 0,
                    fmt::format("unknown column \"{}\"", column.name), place + ": name",
                    column_hint(spec, column.name, column_names));
    } else {
      require_choice(column.std_of, spec.metrics(), "metric of this table", place + ": std_of");
      refuse_unless(std::ranges::count(column_names, column.name) == 0,
                    fmt::format("\"{}\" is the name of a column of its own", column.name), place + ": name");
    }
  }
  require_distinct(names_of(spec.columns), "names of columns", where + ": columns");
  refuse_unless(
      !spec.document.contains("window") || std::ranges::any_of(spec.columns, &ColumnSpec::is_statistic),
      "no column of this table is a training statistic", where + ": window", "leave it out");
}

/// The only rule takes the checkpoint of the highest mean.
void require_selectable(const TableSpec& spec) {
  if (spec.is_training() || spec.better(spec.selection.metric) != "lower") return;
  throw Error(fmt::format("of {} lower is better, and the rule \"{}\" would choose the worst checkpoint",
                          spec.selection.metric, spec.selection.rule),
              spec.file.string() + ": selection.metric", "select by a metric of which higher is better");
}

/// Every metric of a list by what stands in for it.
void replace_metrics(std::vector<std::string>& metrics, const std::map<std::string, std::string>& stands_in) {
  for (auto& metric : metrics) {
    if (const auto found = stands_in.find(metric); found != stands_in.end()) metric = found->second;
  }
}

/// Puts `other` where `metric` stood: in metrics, selection, columns and headings. The paper's figure beside
/// such a column stays what it is, and says so.
void stand_in(TableSpec& spec, const std::string& metric, const std::string& other) {
  const auto old_title = spec.metric_catalogue.title(metric), new_title = spec.metric_catalogue.title(other);
  const auto* info = spec.metric_catalogue.find(other);
  if (spec.selection.metric == metric) spec.selection.metric = other;
  if (spec.by_tag == metric) spec.by_tag = other;
  boost::replace_all(spec.title, old_title, new_title);
  for (auto& column : spec.columns) {
    if (column.name != metric && column.std_of != metric) continue;
    column.stands_for = column.name;
    column.paper_metric = old_title;
    if (column.std_of == metric) column.std_of = other;
    if (info != nullptr && column.std_of.empty()) {
      column.unit = info->unit;
      column.better = info->better;
    }
    boost::replace_all(column.name, metric, other);
    boost::replace_all(column.title, old_title, new_title);
    boost::replace_all(column.note, old_title, new_title);
  }
}

bool is_file_name(const std::string& id) {
  const auto is_plain = [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '-' || c == '_' || c == '.';
  };
  return !id.empty() && std::isalnum(static_cast<unsigned char>(id[0])) != 0 &&
         std::all_of(id.begin(), id.end(), is_plain);
}

constexpr std::uintmax_t kLargestFile = 1'000'000;  // bytes; a shipped table has 8 kB
constexpr std::size_t kLongestText = 10'000;        // bytes: the longest note of a shipped table has 210
constexpr std::size_t kLongestList = 1000;          // seeds, rows, columns, notes, ...

/// No text and no list of a table may be so long that planning, printing or typesetting it never ends.
void check_sizes(const Json& value, const std::string& where) {
  if (value.is_string()) {
    const auto size = value.get_ref<const std::string&>().size();
    refuse_unless(size <= kLongestText, fmt::format("has {} bytes", size), where,
                  fmt::format("a text of a table has at most {}", kLongestText));
  }
  if (value.is_array()) {
    refuse_unless(value.size() <= kLongestList, fmt::format("has {} entries", value.size()), where,
                  fmt::format("a list of a table has at most {}", kLongestList));
    for (std::size_t i = 0; i < value.size(); ++i) check_sizes(value[i], fmt::format("{}[{}]", where, i));
  }
  if (!value.is_object()) return;
  const char* joint = where.find(": ") == std::string::npos ? ": " : ".";
  for (const auto& [key, member] : value.items()) {
    check_sizes(key, where + ": a key");
    check_sizes(member, where + joint + key);
  }
}

/// The file of the table that `file` extends: an id, or a path relative to `file`.
fs::path base_of(const std::string& base, const fs::path& file) {
  const auto where = file.string() + ": extends";
  if (!is_table_file(base)) {
    require_choice(base, known_tables(), "table", where);
    return find_data_file("tables/" + base + ".json");
  }
  const auto base_file = file.parent_path() / base;
  refuse_unless(fs::exists(base_file), fmt::format("there is no file {}", base_file.string()), where,
                "a path is relative to the file that names it; or give a table's id");
  return base_file;
}

/// Takes out of a table's backbones and scales what would overrule the settings of a table that extends it.
void take_out(const Json& settings, Json& table) {
  for (const char* group : {"backbones", "scales"}) {
    if (!table.contains(group) || !table[group].is_object()) continue;
    for (auto& member : table[group]) {
      if (!member.is_object() || !member.contains("settings") || !member["settings"].is_object()) continue;
      for (const auto& [name, _] : settings.items()) member["settings"].erase(name);
    }
  }
}

/// `document` over the table that it extends, as a merge patch (RFC 7386: objects are merged, all else is
/// replaced, null removes); its settings over all of that table's. `above`: the files that led here.
Json resolved(Json document, const fs::path& file, std::vector<std::string> above) {
  if (!document.is_object() || !document.contains("extends")) return document;
  const auto where = file.string() + ": extends";
  refuse_unless(document["extends"].is_string(), "must be the id of a table or a file", where);
  const auto base = base_of(document["extends"].get<std::string>(), file);
  above.push_back(fs::weakly_canonical(file).string());
  const auto next = fs::weakly_canonical(base).string();
  refuse_unless(std::find(above.begin(), above.end(), next) == above.end(),
                fmt::format("the table extends itself: {} -> {}", join(above, " -> "), next), where,
                "extend another table, or give all of it here");
  document.erase("extends");
  auto whole = resolved(read_table_document(base), base, std::move(above));
  refuse_unless(document.contains("id") && document["id"] != whole.value("id", Json()),
                "a table that extends another needs an id of its own", file.string() + ": id");
  if (document.contains("settings") && document["settings"].is_object())
    take_out(document["settings"], whole);
  whole.merge_patch(document);
  return whole;
}

/// What every table states itself, or has from the table that it extends.
void require_head(const Fields& fields) {
  if (fields.has(kTablesKey)) {
    const Json& tables = fields.raw().at(kTablesKey);
    const bool has_names = tables.is_array() && std::ranges::all_of(tables, &Json::is_string);
    throw Error(
        "joins several tables, and one is asked for here", fields.where(),
        "name one of them" + (has_names ? ": " + join(tables.get<std::vector<std::string>>(), ", ") : ""));
  }
  for (const char* key : {"id", "task", "backbone"}) {
    refuse_unless(
        fields.has(key), fmt::format("\"{}\" is missing", key), fields.where(),
        "give it; a table that changes another one also names that one, in \"extends\" (`harness list "
        "tables`)");
  }
}

}  // namespace

std::string scale_note(const ScaleSpec& scale) {
  return fmt::format("Scale {}: {}.", scale.name, scale.note);
}

TableSpec for_backbone(TableSpec spec, const std::string& backbone) {
  const auto found = spec.backbones.find(backbone);
  if (found == spec.backbones.end()) return spec;
  const auto changes = found->second;
  if (!changes.task.empty()) spec.task = changes.task;
  replace_metrics(spec.required_metrics, changes.stands_in);
  replace_metrics(spec.optional_metrics, changes.stands_in);
  for (const auto& [metric, other] : changes.stands_in) stand_in(spec, metric, other);
  if (changes.required_metrics) spec.required_metrics = *changes.required_metrics;
  if (changes.optional_metrics) spec.optional_metrics = *changes.optional_metrics;
  if (!changes.title.empty()) spec.title = changes.title;
  spec.prompts_first = changes.prompts_first.value_or(spec.prompts_first);
  spec.split = changes.split.value_or(spec.split);
  spec.notes.insert(spec.notes.end(), changes.notes.begin(), changes.notes.end());
  check_whole(spec);
  return spec;
}

const ScaleSpec& TableSpec::scale(const std::string& name) const {
  const auto found = scales.find(name);
  if (found != scales.end()) return found->second;
  const auto known = std::views::keys(scales);
  throw Error(fmt::format("table {} has no scale \"{}\"", id, name), "--scale",
              suggestion(name, std::vector<std::string>(known.begin(), known.end())));
}

ArmSpec TableSpec::arm(const std::string& name) const {
  const auto found = arms.find(name);
  return found != arms.end() ? found->second : ArmSpec{.name = name, .method = name};
}

std::vector<std::string> TableSpec::metrics() const {
  auto all = required_metrics;
  all.insert(all.end(), optional_metrics.begin(), optional_metrics.end());
  return all;
}

bool TableSpec::names(const std::string& metric) const {
  return std::ranges::count(required_metrics, metric) + std::ranges::count(optional_metrics, metric) > 0;
}

std::string TableSpec::better(const std::string& metric) const {
  const auto column = std::ranges::find(columns, metric, &ColumnSpec::name);
  if (column != columns.end()) return column->better;
  const auto* info = metric_catalogue.find(metric);
  return info == nullptr ? "none" : info->better;
}

bool is_table_file(const std::string& id_or_file) {
  return id_or_file.ends_with(".json") || id_or_file.find('/') != std::string::npos;
}

Json read_table_document(const fs::path& file) {
  std::error_code unknown;  // what cannot be asked cannot be read either
  const auto size = fs::file_size(file, unknown);
  refuse_unless(unknown || size <= kLargestFile, fmt::format("has {} bytes", size), file.string(),
                fmt::format("a table has at most {}", kLargestFile));
  return read_json(file);
}

void require_table_id(const std::string& id, const std::string& where) {
  refuse_unless(
      is_file_name(id),
      "must be letters, digits, '-', '_' and '.', beginning with a letter or digit: it names a folder",
      where);
  constexpr std::size_t kLongestId = 100;
  refuse_unless(
      id.size() <= kLongestId,
      fmt::format("has {} letters, and at most {} are allowed: it names a folder", id.size(), kLongestId),
      where);
  refuse_unless(!is_taken_in_workspace(id),
                fmt::format("\"{}\" is the name of something else in a workspace", id), where,
                "choose another: the table's files go to a folder of this name");
}

TableSpec read_table_spec(const fs::path& file) {
  return parse_table_spec(resolved(read_table_document(file), file, {}), file);
}

TableSpec with_outside_rows(const TableSpec& spec, const std::vector<std::string>& given, const char* option,
                            const char* key) {
  if (given.empty()) return spec;
  refuse_unless(!spec.is_training(), "is not for training tables: they compare statistics of the training",
                option, "leave it out");
  Json document = spec.document;
  Json& rows = document.at("methods");
  const auto own = rows.size();
  for (const auto& text : given) {
    const auto [name, places] = name_and_place(text, option);
    refuse_unless(!spec.has_base || name != kBaseMethod, "\"base\" cannot be a row's name", option,
                  "choose another: base stands for the starting weights that a table trains from");
    refuse_unless(std::ranges::count(spec.methods, name) == 0,
                  fmt::format("{} is a row of the table already", in_quotes(name)), option,
                  "give the row another name");
    auto row = own;
    while (row < rows.size() && rows[row].at("name") != name) ++row;
    if (row == rows.size()) rows.push_back({{"name", name}, {key, Json::array()}});
    rows[row][key].push_back(absolute_places(places));  // relative ones would be the table's file's
  }
  return parse_table_spec(std::move(document), spec.file);
}

std::vector<std::string> places_in(const std::string& text, const fs::path& folder) {
  const std::string whole(trim(text));
  std::error_code unknown;
  if (!whole.empty() && fs::exists(folder / whole, unknown)) return {whole};
  std::vector<std::string> places;
  for (const auto& part : split(text, ',')) places.emplace_back(trim(part));
  return places;
}

std::string absolute_places(const std::string& given) {
  require_recordable(given, given);
  std::vector<std::string> places;
  for (const auto& place : places_in(given, "")) {
    places.push_back(place.empty() ? place : fs::weakly_canonical(fs::absolute(place)).string());
    require_recordable(places.back(), place);  // a link may lead anywhere
  }
  return join(places, ",");
}

std::pair<std::string, std::string> name_and_place(const std::string& text, const std::string& option) {
  const auto equals = text.find('=');
  refuse_unless(equals != std::string::npos && equals > 0 && equals + 1 < text.size(),
                fmt::format("{} is no NAME=DIR", in_quotes(text)), option);
  auto name = text.substr(0, equals);
  refuse_unless(name.find(',') == std::string::npos,
                fmt::format("{} cannot be a row's name", in_quotes(name)), option,
                "choose another: commas separate rows");
  const auto before_colon = name.substr(0, name.find(':'));
  const bool is_plain =
      before_colon == name || before_colon.find_first_not_of("0123456789") != std::string::npos;
  refuse_unless(is_plain, fmt::format("{} cannot be a row's name", in_quotes(name)), option,
                "choose another: compare takes what is before a colon for an experiment");
  return {std::move(name), text.substr(equals + 1)};
}

std::string usual_baseline(const TableSpec& spec, const std::vector<std::string>& methods) {
  return std::ranges::count(methods, spec.baseline) > 0 ? spec.baseline : methods.front();
}

TableSpec with_split(const TableSpec& spec, int validation, int test) {
  Json document = spec.document;
  document["prompts"]["first"] = validation + test;
  document["split"][document["split"].contains("first") ? "first" : "take"] = validation;
  if (document.contains("backbones")) {
    for (auto& changes : document["backbones"]) {
      changes.erase("split");
      changes.erase("prompts");
    }
  }
  return parse_table_spec(std::move(document), spec.file);
}

TableSpec parse_table_spec(Json document, const fs::path& file, const MetricCatalogue& metrics,
                           SpecSource source) {
  if (source == SpecSource::kFile) check_sizes(document, file.string());
  TableSpec spec;
  spec.file = file;
  spec.metric_catalogue = metrics;
  spec.document = std::move(document);
  Fields fields(spec.document, file.string());
  require_head(fields);
  spec.id = fields.required<std::string>("id");
  require_table_id(spec.id, fields.where() + ": id");
  read(fields, "version", spec.version);
  spec.title = fields.optional<std::string>("title", spec.id);
  spec.task = spec.paper_task = fields.required<std::string>("task");
  if (source == SpecSource::kFile) spec.metric_catalogue = metrics.of_task(spec.task);
  read(fields, "reproduces", spec.reproduces);
  spec.backbone = fields.required<std::string>("backbone");
  const auto kind = fields.optional<std::string>("kind", "evaluation");
  require_choice(kind, {"evaluation", "training"}, "kind of table", fields.where() + ": kind");
  spec.kind = kind == "training" ? TableKind::kTraining : TableKind::kEvaluation;
  read_rows(spec, fields.get("methods"), fields.where() + ": methods");
  if (fields.has("tuning")) read_tuning(spec, fields);
  spec.baseline = fields.required<std::string>("baseline");
  read(fields, "starting_weights", spec.has_base);
  refuse_unless(!spec.has_base || !spec.arms.contains(kBaseMethod),
                "base is the row of the starting weights, and cannot be the name of another",
                fields.where() + ": methods", "choose another name");
  spec.seeds =
      fields.has("seeds") ? whole_numbers<std::int64_t>(fields, "seeds") : std::vector<std::int64_t>{42};
  read(fields, "levels_compare", spec.levels_compare);
  if (!spec.is_training()) {
    read_prompts(spec, fields.object("prompts"));
    refuse_unless(spec.task != kGenevalPrompts || spec.default_prompts + spec.default_training_prompts == "",
                  "are lines of text, and this task takes records of GenEval",
                  fields.where() + ": prompts: default", "leave it out");
    spec.split = read_split(fields.object("split"));
    require_two_splits(spec.split, spec.prompts_first, selects(spec), fields.where() + ": split");
    read_metrics(spec, fields.object("metrics"));
    read_selection(spec, fields.object("selection"));
    if (fields.has("shows")) read_shown(spec, fields.object("shows"));
    if (fields.has("by_tag")) {
      spec.by_tag = fields.required<std::string>("by_tag");
      require_choice(spec.by_tag, spec.metrics(), "metric of this table", fields.where() + ": by_tag");
    }
    if (fields.has("leaderboard")) read_leaderboard(spec, fields.object("leaderboard"));
    if (fields.has("grid")) read_grid(spec, fields.object("grid"));
  }
  if (fields.has("window")) read_window(spec, fields.object("window"));
  spec.checkpoints = read_checkpoints(fields);
  const Json& columns = fields.get("columns");
  refuse_unless(columns.is_array() && !columns.empty(), "must be a list of columns",
                fields.where() + ": columns");
  const ColumnReading reading{.kind = spec.kind, .metrics = spec.metric_catalogue, .source = source};
  for (std::size_t i = 0; i < columns.size(); ++i)
    spec.columns.push_back(
        read_column(columns[i], reading, fmt::format("{}: columns[{}]", fields.where(), i)));
  if (fields.has("claims")) read_claims(spec, fields.get("claims"), fields.where() + ": claims");
  read(fields, "notes", spec.notes);
  read_settings(fields, spec.settings);
  if (fields.has("backbones")) read_backbones(spec, fields.object("backbones"));
  if (fields.has("scales")) {
    Fields scales = fields.object("scales");
    for (const auto& name : scales.keys()) spec.scales[name] = read_scale(name, scales.object(name));
  }
  fields.finish();
  spec.scales["default"].name = "default";
  check_whole(spec);
  if (source == SpecSource::kFile) require_selectable(spec);
  return spec;
}

std::vector<std::string> known_tables() {
  std::vector folders = {find_data_file("tables/sd35-ocr.json").parent_path()};
  if (const char* path = std::getenv("HARNESS_PATH")) {
    for (const auto& folder : split(path, ':')) {
      std::error_code unknown;
      if (!folder.empty() && fs::is_directory(fs::path(folder) / "tables", unknown))
        folders.push_back(fs::path(folder) / "tables");
    }
  }
  std::set<std::string> ids;
  for (const auto& folder : folders)
    for (const auto& entry : fs::directory_iterator(folder))
      if (entry.path().extension() == ".json") ids.insert(entry.path().stem().string());
  return {ids.begin(), ids.end()};
}

bool is_known_table(const std::string& id) {
  return std::ranges::count(known_tables(), id) > 0;
}

TableSpec load_table_spec(const std::string& id_or_file, const std::string& where) {
  if (is_table_file(id_or_file)) return read_table_spec(id_or_file);
  const auto known = known_tables();
  if (std::ranges::count(known, id_or_file) == 0 && fs::exists(id_or_file + ".json"))
    throw Error(fmt::format("unknown table \"{}\"", id_or_file), where,
                fmt::format("your own is a file: {}.json", id_or_file));
  require_choice(id_or_file, known, "table", where);
  return read_table_spec(find_data_file("tables/" + id_or_file + ".json"));
}

void check_timesteps(const TableSpec& spec, std::int64_t steps) {
  for (std::size_t i = 0; i < spec.columns.size(); ++i) {
    const auto& timestep = spec.columns[i].statistic.timestep;
    refuse_unless(!timestep || *timestep < steps,
                  fmt::format("there is no timestep {}: {} steps are trained, counted from 0",
                              timestep.value_or(0), steps),
                  fmt::format("{}: columns[{}]: timestep", spec.file.string(), i));
  }
}

void check_against_registry(const TableSpec& spec, const Registry& registry) {
  const auto where = spec.file.string();
  for (std::size_t i = 0; i < spec.methods.size(); ++i) {
    const auto arm = spec.arm(spec.methods[i]);
    if (arm.is_trained()) registry.method(arm.method, fmt::format("{}: methods[{}]", where, i));
  }
  registry.backbone(spec.backbone, where + ": backbone");
  const auto tasks = names_of(registry.tasks);
  const bool rewards_a_metric = spec.task.starts_with("maximize:") || spec.task.starts_with("minimize:");
  refuse_unless(!rewards_a_metric || std::ranges::count(tasks, spec.task) > 0,
                fmt::format("no external scorer gives the metric of the task \"{}\"", spec.task),
                where + ": task", "give the parent of its folder with --scorers DIR");
  require_choice(spec.task, tasks, "task", where + ": task");
  std::vector<std::string> given;
  for (const auto& evaluator : registry.evaluators)
    for (const auto& metric : evaluator.metrics) given.push_back(metric.name);
  for (std::size_t i = 0; i < spec.required_metrics.size(); ++i) {
    const auto& metric = spec.required_metrics[i];
    const auto place = fmt::format("{}: metrics.required[{}]", where, i);
    if (registry.evaluator_of(metric) != nullptr) continue;
    if (!meant_by(metric, given).empty()) require_choice(metric, given, "metric", place);
    throw Error(fmt::format("no evaluator of this build gives the required metric \"{}\"", metric), place,
                "see `harness list evaluators`; --scorers DIR adds external ones");
  }
  auto known_metrics = reserved_metrics();
  known_metrics.insert(known_metrics.end(), given.begin(), given.end());
  for (std::size_t i = 0; i < spec.optional_metrics.size(); ++i) {
    const auto& metric = spec.optional_metrics[i];
    // Any other name may be that of an external scorer which is not here now.
    if (registry.evaluator_of(metric) == nullptr && nearest(metric, known_metrics))
      require_choice(metric, known_metrics, "metric", fmt::format("{}: metrics.optional[{}]", where, i));
  }
}

}  // namespace harness
