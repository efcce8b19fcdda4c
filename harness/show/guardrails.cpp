#include "harness/show/guardrails.h"

#include "harness/show/families.h"
#include "results/table/table.h"

namespace harness {

std::optional<GuardrailPanel> guardrail_panel_of(const Experiment& experiment,
                                                 std::span<const Comparison> comparisons) {
  const auto& rule = experiment.guardrail_rule;
  if (!rule) return std::nullopt;
  const auto& spec = experiment.table;
  const auto& reward = spec.selection.metric;
  const GuardrailQuestion question{.reward = reward,
                                   .better = experiment.better(reward),
                                   .base = spec.has_base ? kBaseMethod : experiment.effective.baseline};
  // What has no good direction is no reward: beside it nothing can be hacked.
  if (question.better == Better::kNone) return std::nullopt;
  return guardrail_panel(*rule, question, comparisons);
}

std::vector<AlarmRecord> alarms_of(ScoreReader& scores, const Experiment& experiment,
                                   std::span<const Comparison> comparisons) {
  std::vector<std::vector<Comparison>> by_split;
  for (const auto& record : comparisons) {
    if (by_split.empty() || by_split.back().front().split != record.split) by_split.emplace_back();
    by_split.back().push_back(record);
  }
  std::vector<AlarmRecord> alarms;
  for (auto& records : by_split) {
    const auto families = families_of(scores, experiment, records.front().split, records);
    for (auto& c : records)
      c.judgement = judge(c.values, experiment.better(c.metric),
                          {.adjusted = families.adjusted(c), .equal_within = families.margin(c.metric)});
    const auto panel = guardrail_panel_of(experiment, records);
    if (panel) alarms.insert(alarms.end(), panel->alarms.begin(), panel->alarms.end());
  }
  return alarms;
}

}  // namespace harness
