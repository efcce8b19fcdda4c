#pragma once

#include <optional>
#include <span>

#include "harness/show/experiments.h"
#include "results/verdict/guardrails.h"

namespace harness {

/// What moved beside the reward in `comparisons`, an experiment's own of one split. Nothing without a rule.
std::optional<GuardrailPanel> guardrail_panel_of(const Experiment& experiment,
                                                 std::span<const ComparisonRecord> comparisons);

/// Alarms of all splits in the order of `comparisons`.
std::vector<AlarmRecord> alarms_of(const Experiment& experiment,
                                   std::span<const ComparisonRecord> comparisons);

}  // namespace harness
