#pragma once

#include <span>
#include <string>
#include <vector>

#include "harness/compare/question.h"
#include "harness/show/comparisons.h"

namespace harness {

/// What an experiment can compare: its rows, and the starting weights.
std::vector<std::string> compared_methods(const StoredReproduction& experiment);

/// Where verdicts of an experiment's leaderboard are to be quoted from; empty where it has none on this
/// split.
std::string leaderboard_warning(const Experiment& experiment, const std::string& split);

/// Where the experiment's leaderboard says less of a resolved difference than better or worse, the report
/// says so, too. prefix: of the rows' names there.
void heed_leaderboard(ScoreReader& scores, const Experiment& experiment, const std::string& prefix,
                      ComparisonReport& report);

/// Every difference of the table on a split, in its order, and the families in which differences of its rows
/// are judged. Their p-values alone are needed: no bootstrap. of_checkpoints: those over prompts.
Families table_families(ScoreReader& scores, const Experiment& experiment,
                        const std::vector<EvaluatedCheckpoint>& checkpoints, const std::string& split,
                        bool of_checkpoints);

/// Adds the families that the table has besides, where they judge something that is asked for: they take
/// time.
void add_other_families(ScoreReader& scores, const Experiment& experiment,
                        const std::vector<EvaluatedCheckpoint>& checkpoints, const std::string& split,
                        std::span<const TableQuestion> asked, bool of_checkpoints, Families& families);

/// Rows of one experiment, judged as its table judges them. Throws Error (status 2) for a row, metric or
/// split that it does not have.
ComparisonReport compare_within(Store& store, const Experiment& experiment, const CompareQuestion& question);

}  // namespace harness
