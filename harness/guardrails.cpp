#include "harness/guardrails.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "core/error.h"
#include "core/files.h"
#include "harness/plan.h"

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

/// The verdicts of the table on those metrics that it names.
std::vector<JudgedDifference> judged_by_table(const TableSpec& spec,
                                              std::span<const ComparisonRecord> comparisons) {
  const auto named = spec.metrics();
  std::vector<TableComparison> shown;
  for (const auto& c : comparisons) {
    if (std::ranges::find(named, c.metric) != named.end())
      shown.push_back({.baseline = c.baseline,
                       .method = c.method,
                       .metric = c.metric,
                       .restates = restated_by(c.metric),
                       .values = c.result});
  }
  adjust_comparisons(shown, GuardrailQuestion{}.confidence);
  std::vector<JudgedDifference> judged;
  for (const auto& c : shown)
    judged.push_back({c.baseline, c.method, c.metric, c.adjusted_p, c.differs, c.claim});
  return judged;
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

std::optional<GuardrailRule> guardrail_rule_of(const StoredReproduction& reproduction) {
  const auto effective = reproduction.spec.find("effective");
  if (effective == reproduction.spec.end()) return std::nullopt;
  const auto rule = effective->find("guardrails");
  if (rule == effective->end() || rule->is_null()) return std::nullopt;
  return read_guardrail_rule(*rule, "reproductions.spec: effective.guardrails");
}

std::optional<GuardrailPanel> guardrail_panel_of(const StoredReproduction& reproduction,
                                                 std::span<const ComparisonRecord> comparisons) {
  const auto rule = guardrail_rule_of(reproduction);
  if (!rule) return std::nullopt;
  const auto spec = spec_of(reproduction);
  const auto& reward = spec.selection.metric;
  GuardrailQuestion question{
      .reward = reward, .better = better_of(reproduction, reward), .base = kBaseMethod};
  for (const auto& metric : built_in_catalogue().names()) {
    if (const auto other = restated_by(metric); !other.empty()) question.restates[metric] = other;
  }
  return guardrail_panel(*rule, question, comparisons, judged_by_table(spec, comparisons));
}

std::vector<AlarmRecord> alarms_of(const StoredReproduction& reproduction,
                                   std::span<const ComparisonRecord> comparisons) {
  std::vector<std::pair<std::string, std::vector<ComparisonRecord>>> by_split;
  for (const auto& record : comparisons) {
    if (by_split.empty() || by_split.back().first != record.split) by_split.push_back({record.split, {}});
    by_split.back().second.push_back(record);
  }
  std::vector<AlarmRecord> alarms;
  for (const auto& [split, records] : by_split) {
    const auto panel = guardrail_panel_of(reproduction, records);
    if (panel) alarms.insert(alarms.end(), panel->alarms.begin(), panel->alarms.end());
  }
  return alarms;
}

}  // namespace harness
