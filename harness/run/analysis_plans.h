#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "harness/plan/plan.h"
#include "results/store/store.h"
#include "results/verdict/analysis_plan.h"

namespace harness {

/// How many runs are planned per row, as typed.
struct PlanDesign {
  std::optional<std::int64_t> runs = {};  ///< --plan-runs; nothing: as many as there are seeds
  std::vector<std::int64_t> looks = {};   ///< --looks; empty: one, at all runs

  bool is_typed() const { return runs || !looks.empty(); }
};

/// The analysis plan of what is about to be run, with none of its runs opened. Throws Error for fewer runs
/// than seeds, for more runs than are given from outside, and for looks that do not go together.
AnalysisPlan analysis_plan_of(const Plan& plan, const PlanDesign& design);

/// Records what a plan asks, before it trains, unless it is recorded already or nothing of it is untested: of
/// seeds that have been tested and new ones the new ones are a plan of their own. An earlier plan of the same
/// table of which nothing has been tested gives way. Returns sentences for the user.
std::vector<std::string> record_analysis_plan(const Plan& plan, const PlanDesign& design, Store& store);

}  // namespace harness
