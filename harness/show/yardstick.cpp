#include "harness/show/yardstick.h"

#include <algorithm>
#include <vector>

#include "harness/plan/settings.h"
#include "harness/show/comparisons.h"
#include "results/table/equal_rows.h"

namespace harness {
namespace {

/// What --set changed for this row alone.
Json own_settings(const Experiment& experiment, const std::string& row) {
  Json own = Json::object();
  for (const auto& [name, value] : experiment.effective.set.items()) {
    const auto of_row = row_setting(name, experiment.methods);
    if (of_row && of_row->row == row) own[of_row->name] = value;
  }
  return own;
}

/// The equal rows that the experiment made, in the table's order.
std::vector<std::string> equal_rows_of(const Experiment& experiment) {
  std::vector<std::string> rows;
  for (const auto& row : experiment.methods) {
    if (std::ranges::count(experiment.table.equal_rows, row) == 0) continue;
    if (rows.empty() || own_settings(experiment, row) == own_settings(experiment, rows.front()))
      rows.push_back(row);
  }
  return rows;
}

std::vector<EqualPair> equal_pairs(Store& store, const TableSpec& spec, const std::vector<std::string>& rows,
                                   const std::vector<EvaluatedCheckpoint>& checkpoints,
                                   const std::string& split) {
  std::vector<EqualPair> pairs;
  ScoreReader scores(store);
  const auto metrics = named_by_table(spec, metrics_of(store, checkpoints));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (std::size_t j = i + 1; j < rows.size(); ++j) {
      for (const auto& metric : metrics) {
        pairs.push_back({.first = rows[i],
                         .second = rows[j],
                         .metric = metric,
                         .restates = restated_by(metric),
                         .better = better_from_name(spec.better(metric)),
                         .pairs = paired_values(scores, checkpoints, rows[i], rows[j], split, metric)});
      }
    }
  }
  return pairs;
}

/// Rows beside equal ones, compared with one of those.
bool is_calibration(const Experiment& experiment, const std::vector<std::string>& equal) {
  const auto is_equal = [&](const std::string& row) { return std::ranges::find(equal, row) != equal.end(); };
  return equal.size() >= 2 && is_equal(experiment.effective.baseline) &&
         !std::ranges::all_of(experiment.methods, is_equal);
}

/// Nothing where the runs allow no claim about methods.
std::optional<Calibration> calibration_of(Store& store, const Experiment& experiment,
                                          const std::string& split) {
  const auto equal = equal_rows_of(experiment);
  if (!is_calibration(experiment, equal)) return std::nullopt;
  Calibration calibration{
      .experiment = experiment.id, .table = experiment.table_id, .baseline = experiment.effective.baseline};
  auto comparisons = stored_comparisons(store, experiment, split);
  keep_named_metrics(experiment, comparisons);
  ScoreReader scores(store);
  complete_comparisons(scores, experiment, split, comparisons, false);
  adjust_comparisons(comparisons, TableModel{}.confidence);
  for (const auto& c : comparisons) {
    if (c.baseline != calibration.baseline || c.claim != Claim::kMethods || !c.restates.empty()) continue;
    auto row = std::ranges::find(calibration.rows, c.method, &CalibrationRow::row);
    if (row == calibration.rows.end()) {
      const bool is_equal = std::ranges::find(equal, c.method) != equal.end();
      row = calibration.rows.insert(row, {.row = c.method, .is_equal = is_equal});
    }
    const auto runs = c.values.crossed->runs;
    calibration.runs = calibration.runs == 0 ? runs : std::min(calibration.runs, runs);
    ++row->metrics;
    if (c.resolved()) row->called.push_back(c.metric);
  }
  return calibration.rows.empty() ? std::nullopt : std::optional(std::move(calibration));
}

/// Told from the record alone: most have none, and are not worth reading.
bool may_have_yardstick(const StoredReproduction& record) {
  const auto rows = record.spec.find("equal_rows");
  return rows != record.spec.end() && *rows != false && record.spec.value("kind", "") != "training";
}

/// Nothing where fewer than two equal rows were made, and where `split` was not evaluated.
std::optional<Yardstick> yardstick_of(Store& store, const Experiment& experiment, const std::string& split) {
  if (!may_have_yardstick(experiment)) return std::nullopt;
  const auto& spec = experiment.table;
  const auto rows = equal_rows_of(experiment);
  if (rows.size() < 2) return std::nullopt;
  const auto checkpoints = evaluated_checkpoints(store, experiment);
  auto metrics = yardstick_metrics(equal_pairs(store, spec, rows, checkpoints, split));
  if (metrics.empty()) return std::nullopt;
  return Yardstick{.experiment = experiment.id,
                   .table = experiment.table_id,
                   .method = spec.arm(rows.front()).method,
                   .rows = rows,
                   .seeds = experiment.seeds,
                   .split = split,
                   .metrics = std::move(metrics)};
}

/// What `measure` gives for the last other experiment that was made as this one and gives anything.
template <class Measure>
auto latest(Store& store, const Experiment& experiment, const Measure& measure)
    -> decltype(measure(experiment)) {
  const auto conditions = conditions_of(experiment);
  for (auto& record : store.reproductions()) {
    if (record.id == experiment.id || !may_have_yardstick(record)) continue;
    const Experiment other(std::move(record));
    if (conditions_of(other) != conditions) continue;
    if (auto measured = measure(other)) return measured;
  }
  return std::nullopt;
}

}  // namespace

Json conditions_of(const Experiment& experiment) {
  const auto& spec = experiment.table;
  Json conditions = {{"backbone", experiment.backbone},
                     {"scale", experiment.scale},
                     {"task", spec.task},
                     {"split", text_of(spec.split)},
                     {"selection", {spec.selection.split, spec.selection.metric, spec.selection.rule}}};
  const Json effective = experiment.effective.to_json();
  for (const char* key :
       {"prompt_set", "split_sizes", "checkpoints", "weights_sha256", "settings", "evaluation_settings"})
    conditions[key] = effective.at(key);
  return conditions;
}

std::optional<Calibration> latest_calibration(Store& store, const Experiment& experiment,
                                              const std::string& split) {
  return latest(store, experiment, [&](const auto& other) { return calibration_of(store, other, split); });
}

std::optional<Yardstick> yardstick_for(Store& store, const Experiment& experiment, const std::string& split) {
  if (experiment.is_training()) return std::nullopt;
  auto yardstick = yardstick_of(store, experiment, split);
  if (!yardstick)
    return latest(store, experiment, [&](const auto& other) { return yardstick_of(store, other, split); });
  yardstick->is_own = true;
  return yardstick;
}

}  // namespace harness
