#include "harness/show/guardrails.h"

#include "results/table/table.h"

namespace harness {
namespace {

/// The table's own family: those metrics that it names.
Family family_of_table(const TableSpec& spec, std::span<const Comparison> comparisons) {
  auto questions = questions_of(comparisons);
  std::erase_if(questions, [&](const TableQuestion& q) { return !spec.names(q.metric); });
  return {kTableFamily, std::move(questions)};
}

}  // namespace

std::optional<GuardrailPanel> guardrail_panel_of(const Experiment& experiment,
                                                 std::span<const Comparison> comparisons) {
  const auto& rule = experiment.guardrail_rule;
  if (!rule) return std::nullopt;
  const auto& spec = experiment.table;
  const auto& reward = spec.selection.metric;
  const GuardrailQuestion question{.reward = reward,
                                   .better = experiment.better(reward),
                                   .base = spec.has_base ? kBaseMethod : experiment.effective.baseline,
                                   .of_table = family_of_table(spec, comparisons)};
  // What has no good direction is no reward: beside it nothing can be hacked.
  if (question.better == Better::kNone) return std::nullopt;
  return guardrail_panel(*rule, question, comparisons);
}

std::vector<TableQuestion> panel_questions(const Experiment& experiment, std::vector<Comparison> comparisons,
                                           bool of_checkpoints) {
  if (of_checkpoints)
    for (auto& comparison : comparisons) comparison.values.judges_methods = false;
  const auto panel = guardrail_panel_of(experiment, comparisons);
  std::vector<TableQuestion> questions;
  if (!panel) return questions;
  for (const auto& effect : panel->effects) {
    if (!effect.judged_by_table()) questions.push_back(question_of(effect));
  }
  return questions;
}

std::vector<AlarmRecord> alarms_of(const Experiment& experiment, std::span<const Comparison> comparisons) {
  std::vector<std::vector<Comparison>> by_split;
  for (const auto& record : comparisons) {
    if (by_split.empty() || by_split.back().front().split != record.split) by_split.emplace_back();
    by_split.back().push_back(record);
  }
  std::vector<AlarmRecord> alarms;
  for (const auto& records : by_split) {
    const auto panel = guardrail_panel_of(experiment, records);
    if (panel) alarms.insert(alarms.end(), panel->alarms.begin(), panel->alarms.end());
  }
  return alarms;
}

}  // namespace harness
