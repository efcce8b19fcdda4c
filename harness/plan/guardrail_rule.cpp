#include "harness/plan/guardrail_rule.h"

#include <fmt/format.h>

#include "core/error.h"
#include "core/files.h"
#include "results/table/table.h"
#include "results/verdict/guardrails.h"

namespace harness {
namespace {

constexpr const char* kRuleFile = "rules/guardrails.json";

/// The side of a metric that is not its good one; either side of one without a good direction may be harmful.
void require_harmful_side(const GuardrailMetric& metric, const MetricCatalogue& metrics,
                          const std::string& where) {
  const auto* info = metrics.find(metric.name);
  if (info == nullptr || info->better == "none" || better_from_name(info->better) == metric.better) return;
  const char* harmful = metric.better == Better::kUp ? "lower" : "higher";
  throw Error(fmt::format("\"{}\" cannot be the harmful side of {}: {} ({})", harmful, metric.name,
                          direction_text(info->better), metrics.source(metric.name)),
              where + ": harmful", fmt::format("give \"{}\"", info->better == "lower" ? "higher" : "lower"));
}

}  // namespace

Json load_guardrail_rule(const MetricCatalogue& metrics) {
  const auto file = find_data_file(kRuleFile);
  auto document = read_json(file);
  const auto rule = read_guardrail_rule(document, file.string());
  for (std::size_t i = 0; i < rule.metrics.size(); ++i)
    require_harmful_side(rule.metrics[i], metrics, fmt::format("{}: metrics[{}]", file.string(), i));
  return document;
}

}  // namespace harness
