#pragma once

#include <string>
#include <vector>

#include "harness/plan.h"
#include "results/store.h"

namespace harness {

/// Records a finished plan as a reproduction (table spec in effect, signature, evaluations) with its
/// comparisons, which are computed unless they are there already. It is then the last one, which `table`,
/// `compare` and `grid` take.
StoredReproduction record_plan(const Plan& plan, Store& store, std::vector<std::string> evaluations,
                               double wall_seconds);

}  // namespace harness
