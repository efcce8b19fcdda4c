#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "harness/plan/plan.h"
#include "results/store/store.h"
#include "results/verdict/analysis_plan.h"

namespace harness {

/// What is planned, as typed.
struct PlanDesign {
  std::optional<std::int64_t> runs = {};  ///< --plan-runs; nothing: as many as there are seeds
  std::vector<std::int64_t> looks = {};   ///< --looks; empty: one, at all runs
  bool only = false;                      ///< --plan-only: record it, and run nothing

  bool is_typed() const { return runs || !looks.empty(); }
};

/// As many seeds as are planned: those given, and after them the numbers after the largest. Throws Error for
/// fewer runs than seeds.
std::vector<std::int64_t> planned_seeds(std::vector<std::int64_t> seeds, const PlanDesign& design);

/// The analysis plan of what is about to be run, with none of its runs opened. Throws Error for fewer runs
/// than seeds, for more runs than are given from outside, and for looks that do not go together.
AnalysisPlan analysis_plan_of(const Plan& plan, const PlanDesign& design);

/// A plan that is to be recorded, if any, and sentences for the user.
struct PlanToRecord {
  std::optional<AnalysisPlan> plan = {};
  std::vector<std::string> sentences = {};

  template <class... Values>
  void say(fmt::format_string<Values...> text, Values&&... values) {
    sentences.push_back("note: " + fmt::format(text, std::forward<Values>(values)...));
  }
};
/// What record_analysis_plan would do.
PlanToRecord plan_to_record(const Plan& plan, const PlanDesign& design, Store& store);

/// Records what a plan asks, before it trains, unless it is recorded already or nothing of it is untested: of
/// seeds that have been tested and new ones the new ones are a plan of their own. An earlier plan of the same
/// table of which nothing has been tested gives way. A run counts as tested where one with near settings has
/// been (near_settings), and all of a plan that takes some trained seeds and leaves others out. Returns
/// sentences for the user.
std::vector<std::string> record_analysis_plan(const Plan& plan, const PlanDesign& design, Store& store);

}  // namespace harness
