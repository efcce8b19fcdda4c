#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/text.h"
#include "harness/spec/reading.h"

namespace harness {
namespace {

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

/// What is known of a column independently of its table.
struct KnownColumn {
  MetricInfo info;
  std::string source = {};  ///< where it is stated; empty: nowhere
  bool is_fixed = false;    ///< direction and unit are its metric's and no table's
};

KnownColumn known_statistic(const ColumnSpec& column) {
  KnownColumn known{.info = {.name = column.name, .title = column.name}};
  if (column.statistic.of_method) return known;
  known.info.better = find_statistic(column.statistic.name)->better;
  if (known.info.better != "none") known.source = "training statistic " + column.statistic.name;
  return known;
}

KnownColumn known_column(const ColumnSpec& column, const TableSpec& spec, SpecSource source) {
  const auto& metrics = spec.metric_catalogue;
  if (spec.is_training()) {
    const auto* recorded = source != SpecSource::kFile ? metrics.find(column.name) : nullptr;
    if (recorded == nullptr) return known_statistic(column);
    return {.info = *recorded, .source = recorded->source, .is_fixed = true};
  }
  if (column.is_statistic()) return known_statistic(column);
  const bool was_metric = source != SpecSource::kFile && metrics.find(column.name) != nullptr;
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

/// A direction or unit (`key`) that a table states must be the metric's own; `fact` states it.
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

ColumnSpec read_table_column(const Json& value, const TableSpec& spec, SpecSource source,
                             const std::string& where) {
  Fields fields(value, where);
  ColumnSpec column;
  column.name = fields.required<std::string>("name");
  read(fields, "paper", column.paper);
  read(fields, "note", column.note);
  if (spec.is_training() || fields.has("stat")) {
    column.statistic.name = fields.optional<std::string>("stat", column.name);
    read(fields, "timestep", column.statistic.timestep);
    read(fields, "on_policy_too", column.statistic.on_policy_too);
    read(fields, "of_method", column.statistic.of_method);
    check_statistic(column.statistic, where + (fields.has("stat") ? ": stat" : ": name"));
    refuse_unless(column.statistic.timestep.value_or(0) >= 0, "timesteps count from 0", where + ": timestep");
  } else {
    read(fields, "std_of", column.std_of);
  }
  const auto known = known_column(column, spec, source);
  describe_column(fields, known, source, column);
  if (column.note.empty() && !column.is_statistic() && find_budget_column(column.name) != nullptr)
    column.note = known.info.help;
  fields.finish();
  return column;
}

}  // namespace

const MetricInfo* of_checkpoint(const std::string& column) {
  const auto found = std::ranges::find(kCheckpointColumns, column, &MetricInfo::name);
  return found == kCheckpointColumns.end() ? find_budget_column(column) : &*found;
}

const std::vector<MetricInfo>& checkpoint_columns() {
  return kCheckpointColumns;
}

void read_columns(TableSpec& spec, const Json& columns, SpecSource source) {
  const auto where = spec.file.string() + ": columns";
  refuse_unless(columns.is_array() && !columns.empty(), "must be a list of columns", where);
  spec.columns.clear();
  for (std::size_t i = 0; i < columns.size(); ++i)
    spec.columns.push_back(read_table_column(columns[i], spec, source, fmt::format("{}[{}]", where, i)));
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

}  // namespace harness
