#include "results/verdict/yardstick.h"

#include <algorithm>

namespace harness {
namespace {

Json verdicts_json(const NullVerdicts& verdicts) {
  const auto share = static_cast<double>(verdicts.called) / static_cast<double>(verdicts.comparisons);
  return {{"comparisons", verdicts.comparisons},
          {"called", verdicts.called},
          {"share", verdicts.comparisons > 0 ? Json(share) : Json()}};
}

}  // namespace

const YardstickMetric* Yardstick::find(const std::string& metric) const {
  const auto found = std::ranges::find(metrics, metric, &YardstickMetric::metric);
  return found == metrics.end() ? nullptr : &*found;
}

Json yardstick_json(const Yardstick& yardstick) {
  Json metrics = Json::object();
  for (const auto& metric : yardstick.metrics) {
    metrics[metric.metric] = {
        {"run_sd", or_null(metric.run_sd)},         {"runs", metric.runs},
        {"same_seed_sd", metric.same_seed_sd},      {"differences", metric.differences},
        {"methods", verdicts_json(metric.methods)}, {"checkpoints", verdicts_json(metric.checkpoints)}};
  }
  return {{"experiment", yardstick.experiment},
          {"table", yardstick.table},
          {"method", yardstick.method},
          {"rows", yardstick.rows},
          {"seeds", yardstick.seeds},
          {"split", yardstick.split},
          {"own", yardstick.is_own},
          {"metrics", std::move(metrics)}};
}

Json calibration_json(const Calibration& calibration) {
  Json rows = Json::object();
  for (const auto& row : calibration.rows)
    rows[row.row] = {{"equal", row.is_equal}, {"metrics", row.metrics}, {"called", row.called}};
  return {{"experiment", calibration.experiment},
          {"table", calibration.table},
          {"baseline", calibration.baseline},
          {"runs", calibration.runs},
          {"rows", std::move(rows)}};
}

}  // namespace harness
