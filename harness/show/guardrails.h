#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/read/experiments.h"
#include "harness/show/comparisons.h"
#include "results/verdict/guardrails.h"

namespace harness {

/// What moved beside the reward in `comparisons`, an experiment's own of one split, which are judged. Nothing
/// without a rule.
std::optional<GuardrailPanel> guardrail_panel_of(const Experiment& experiment,
                                                 std::span<const Comparison> comparisons);

/// Alarms of all splits in the order of `comparisons`.
std::vector<AlarmRecord> alarms_of(ScoreReader& scores, const Experiment& experiment,
                                   std::span<const Comparison> comparisons);

}  // namespace harness
