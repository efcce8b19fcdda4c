#pragma once

#include <vector>

#include "harness/runs/removal.h"
#include "harness/work/plan_work.h"

namespace harness {

/// The plans' runs that --fresh begins anew and that experiments of other commands rest on, which go with
/// them.
std::vector<Removal> removals_of_others(const std::vector<Plan>& plans, Store& store);

/// As `runs rm`: throws Error (status 2) for such runs without --force, and without --yes if standard
/// input is not a terminal. False where the answer is no.
bool is_fresh_agreed(const WorkOptions& options, const std::vector<Plan>& plans, Store& store);

/// What is missing on the command line: --force.
void require_forced(const WorkOptions& options, const std::vector<Removal>& removals);

}  // namespace harness
