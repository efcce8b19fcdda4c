#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "harness/plan/plan.h"
#include "results/store/store.h"

// What the DB holds of a plan. Nothing here writes.

namespace harness {

/// Scores that finished evaluations of a plan lack for reasons that may pass (is_passing_reason), and whose
/// images are here: repeating the command asks for them again.
struct MissingScores {
  std::map<std::string, std::int64_t> by_evaluation = {};
  std::set<std::string> metrics = {};
  std::int64_t all = 0, required = 0;  ///< `required`: of the table's required metrics
  std::string reason = {};             ///< of the first, a required one before others
};

bool is_done(Store& store, const std::string& job);

/// What repeating the command asks for.
MissingScores missing_scores(const Plan& plan, Store& store);

/// What is told of a checkpoint that was formerly_selected.
std::string reselection_text(const std::string& run, int step, int former);

/// The selection that the DB holds for exactly these candidates, or nothing.
std::optional<StoredSelection> recorded_selection(const Plan& plan, const RunPlan& run, Store& store);

/// By run, lists of checkpoints.
using StepLists = std::map<std::string, std::set<std::vector<int>>>;

/// What the second view of a plan chooses from: of each run of a row that is compared there one list, of the
/// baseline's runs one for each cut. Nothing without a second view, and until every run has said what it
/// spent.
std::optional<StepLists> second_view_steps(const Plan& plan, Store& store);

/// The selection of a second view that the DB holds for exactly these checkpoints, or nothing.
std::optional<StoredSelection> recorded_second_view(const Plan& plan, const RunPlan& run,
                                                    const std::vector<int>& steps, Store& store);

/// The evaluations of a plan (none of a training table) if all of it is done, else nothing.
std::optional<std::vector<std::string>> finished_evaluations(const Plan& plan, Store& store);

}  // namespace harness
