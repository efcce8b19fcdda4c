#pragma once

#include <optional>
#include <span>

#include "harness/reproductions.h"
#include "results/guardrails.h"

namespace harness {

/// rules/guardrails.json of $HARNESS_PATH, the share folder or the source tree, as it is. Throws Error
/// (status 2) with the place of what is wrong in it, also for a harmful side that is the metric's good one.
Json load_guardrail_rule(const MetricCatalogue& metrics);

/// The rule that a reproduction was recorded with; nothing for a training table, and for one of a version
/// without guardrails.
std::optional<GuardrailRule> guardrail_rule_of(const StoredReproduction& reproduction);

/// What moved beside the reward of a reproduction on one split; `comparisons`: its own of that split. Nothing
/// without a rule.
std::optional<GuardrailPanel> guardrail_panel_of(const StoredReproduction& reproduction,
                                                 std::span<const ComparisonRecord> comparisons);

/// Alarms of all splits in the order of `comparisons`.
std::vector<AlarmRecord> alarms_of(const StoredReproduction& reproduction,
                                   std::span<const ComparisonRecord> comparisons);

}  // namespace harness
