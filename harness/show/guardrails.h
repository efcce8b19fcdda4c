#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/read/experiments.h"
#include "harness/show/comparisons.h"
#include "results/verdict/guardrails.h"
#include "results/verdict/multiplicity.h"

namespace harness {

/// What moved beside the reward in `comparisons`, an experiment's own of one split. Nothing without a rule.
std::optional<GuardrailPanel> guardrail_panel_of(const Experiment& experiment,
                                                 std::span<const Comparison> comparisons);

/// Of all differences of a split those that the guardrails judge by themselves, as one family;
/// of_checkpoints: by what is claimed of checkpoints, whatever the runs allow.
std::vector<TableQuestion> panel_questions(const Experiment& experiment, std::vector<Comparison> comparisons,
                                           bool of_checkpoints);

/// Alarms of all splits in the order of `comparisons`.
std::vector<AlarmRecord> alarms_of(const Experiment& experiment, std::span<const Comparison> comparisons);

}  // namespace harness
