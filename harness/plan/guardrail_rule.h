#pragma once

#include "harness/plan/metric_catalogue.h"

namespace harness {

/// rules/guardrails.json of $HARNESS_PATH, the share folder or the source tree, as it is. Throws Error
/// (status 2) with the place of what is wrong in it, also for a harmful side that is the metric's good one.
Json load_guardrail_rule(const MetricCatalogue& metrics);

}  // namespace harness
