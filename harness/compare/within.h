#pragma once

#include <string>
#include <vector>

#include "harness/compare/question.h"
#include "harness/show/comparisons.h"

namespace harness {

/// What an experiment can compare: its rows, and the starting weights.
std::vector<std::string> compared_methods(const StoredReproduction& experiment);

/// Every difference of the table, in its order: Holm's family. Their p-values alone are needed: no bootstrap.
std::vector<ComparisonRecord> table_comparisons(ScoreReader& scores, const Experiment& experiment,
                                                const std::vector<EvaluatedCheckpoint>& checkpoints,
                                                const std::string& split);

/// Rows of one experiment, judged as its table judges them. Throws Error (status 2) for a row, metric or
/// split that it does not have.
ComparisonReport compare_within(Store& store, const Experiment& experiment, const CompareQuestion& question);

}  // namespace harness
