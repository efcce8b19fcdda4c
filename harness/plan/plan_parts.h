#pragma once

#include "harness/plan/plan.h"
#include "harness/plan/scorers.h"

// What plans of all kinds have in common.
namespace harness {

/// Fills in metrics, guardrails, scorers and their folders from the table and the backbone. Throws Error.
void choose_scorers(Plan& plan, const ScorerFolders& folders);

/// Fills in the runs, of whatever kind the rows are. `first_index`: of prompts in the names of image files.
/// Throws Error for what is given from outside and cannot be read.
void add_runs(Plan& plan, int first_index);

}  // namespace harness
