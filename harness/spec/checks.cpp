#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "core/error.h"
#include "core/text.h"
#include "datasets/seed.h"
#include "harness/spec/reading.h"

namespace harness {
namespace {

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

}  // namespace

void check_whole(const TableSpec& spec) {
  const auto where = spec.file.string();
  refuse_unless(!spec.methods.empty(), "needs at least one method", where + ": methods");
  require_distinct(spec.methods, "methods", where + ": methods");
  refuse_unless(!spec.seeds.empty(), "needs at least one seed", where + ": seeds");
  require_distinct(spec.seeds, "seeds", where + ": seeds");
  refuse_unless(std::ranges::all_of(spec.seeds, [](auto seed) { return std::in_range<std::uint32_t>(seed); }),
                fmt::format("seeds are 0 to {}", kLargestSeed), where + ": seeds");
  refuse_unless(std::ranges::count(spec.methods, spec.baseline) > 0,
                in_quotes(spec.baseline) + " is not among the methods", where + ": baseline",
                suggestion(spec.baseline, spec.methods) +
                    "; a table that extends another one has its baseline until it gives one");
  for (const auto& [name, arm] : spec.arms) {
    refuse_unless(arm.traits().trains || !spec.is_training(),
                  fmt::format("row \"{}\" was made elsewhere: there are no statistics of its training", name),
                  where + ": methods", "such rows are for evaluation tables");
  }
  if (spec.is_training()) return;
  if (std::ranges::count(spec.required_metrics, spec.selection.metric) == 0)
    require_no_misspelling_of(spec, spec.selection.metric);
  require_choice(spec.selection.metric, spec.required_metrics, "metric (it must be a required one)",
                 where + ": selection.metric");
  auto column_names = spec.metrics();
  for (const auto* columns : {&checkpoint_columns(), &budget_columns()})
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

void require_selectable(const TableSpec& spec) {
  if (spec.is_training() || spec.better(spec.selection.metric) != "lower") return;
  throw Error(fmt::format("of {} lower is better, and the rule \"{}\" would choose the worst checkpoint",
                          spec.selection.metric, spec.selection.rule),
              spec.file.string() + ": selection.metric", "select by a metric of which higher is better");
}

void check_against_registry(const TableSpec& spec, const Registry& registry) {
  const auto where = spec.file.string();
  for (std::size_t i = 0; i < spec.methods.size(); ++i) {
    const auto arm = spec.arm(spec.methods[i]);
    if (arm.traits().trains) registry.method(arm.method, fmt::format("{}: methods[{}]", where, i));
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
