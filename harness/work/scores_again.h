#pragma once

#include "harness/plan/plan.h"
#include "harness/run/plan_record.h"
#include "harness/terminal/progress.h"
#include "results/store/store.h"

// Scorers that are ill: before anything runs, and what is made up for once they are well.
namespace harness {

/// Lets the external scorers that the plan uses score a test image. An optional metric that has no value of
/// it is left out of the plan, with the reason, unless evaluations with it have begun (`known`: nullptr
/// without a DB) or `is_detached`. Throws Error (status 2) where a scorer fails, or gives none of a required
/// metric.
void try_scorers(Plan& plan, Store* known, bool is_detached);

/// The scores that a finished plan requests again; none, with a message, while a scorer still fails.
MissingScores scores_to_ask_again(const Plan& plan, Store& store, Progress& progress);

/// Makes comparisons and tables again of every experiment that is older than its scores are.
void renew_experiments(Store& store, Progress& progress);

/// Prints how many required scores are still missing. Returns the exit status: 1 where there are some.
int missing_scores_status(const Plan& plan, Store& store, Progress& progress);

}  // namespace harness
