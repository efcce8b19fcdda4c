#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/json.h"
#include "evaluators/metrics/metric_info.h"
#include "harness/spec/registry.h"

namespace harness {

struct KnownMetric : MetricInfo {
  std::string source;  ///< where it is stated: "evaluator jpeg"
};

/// What every metric is, by name: the one place that knows a metric's direction, unit, title and decimals.
class MetricCatalogue {
 public:
  MetricCatalogue() = default;

  /// Of evaluators; several backbones' share metrics, and the first one counts.
  explicit MetricCatalogue(const auto& evaluators) {
    for (const auto& evaluator : evaluators)
      for (const auto& metric : evaluator.metrics)
        entries_.try_emplace(metric.name, KnownMetric{metric, "evaluator " + evaluator.name});
  }

  /// As to_json wrote it.
  static MetricCatalogue from_json(const Json& list, const std::string& where);
  /// Those of `names` that are known.
  Json to_json(const std::vector<std::string>& names) const;

  /// As a table reads them that trains for `task`: a metric without a good direction takes the side that
  /// maximize: or minimize: says.
  MetricCatalogue of_task(const std::string& task) const;

  /// nullptr for a metric that no evaluator here gives.
  const KnownMetric* find(const std::string& name) const;
  /// What a metric is called in headings: "PickScore"; its name for an unknown one.
  std::string title(const std::string& name) const;
  std::vector<std::string> names() const;
  bool empty() const { return entries_.empty(); }

 private:
  std::map<std::string, KnownMetric> entries_;
};

/// The catalogue of this build's own evaluators, read once.
const MetricCatalogue& built_in_catalogue();

/// The paper's metrics without an evaluator: optional ones in tables, and no names for a user's scorer.
const std::vector<std::string>& reserved_metrics();

/// MetricInfo::restates, as this build's evaluators say it; empty for a metric of its own.
std::string restated_by(const std::string& metric);

/// Columns of a table with a run's cost at a checkpoint (view v_budgets): what the loop counted,
/// kCostColumns, and tuning, the runs that chose the method's settings, as the table's file states them.
/// `help` is their note.
const std::vector<MetricInfo>& budget_columns();

/// Nothing for a name that is none of them.
const MetricInfo* find_budget_column(const std::string& name);

/// The column of runs that chose a method's settings, which no run can count.
inline constexpr const char* kTuningColumn = "tuning";

}  // namespace harness
