#pragma once

#include <string>
#include <vector>

#include "harness/plan/plan.h"
#include "harness/read/builds.h"
#include "harness/read/experiments.h"

namespace harness {

/// Which code recorded the jobs of a finished plan (code_of_jobs).
std::vector<CodeGroup> code_of_plan(const Plan& plan, Store& store,
                                    const std::vector<std::string>& evaluations);

/// Records a finished plan as the last experiment, with its comparisons. `code`: code_of_plan.
Experiment record_plan(const Plan& plan, Store& store, std::vector<std::string> evaluations,
                       const std::vector<CodeGroup>& code, double wall_seconds);

/// Makes the comparisons and alarms of an experiment, in the place of those that it has.
void record_comparisons(Store& store, const Experiment& experiment);

}  // namespace harness
