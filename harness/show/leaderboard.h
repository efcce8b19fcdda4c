#pragma once

#include <optional>
#include <vector>

#include "harness/show/evaluated_checkpoints.h"
#include "results/chart/figure.h"
#include "results/table/table.h"

namespace harness {

/// What an experiment's table says as a leaderboard, from its rows and `comparisons` (all metrics of the
/// split shown, with the differences of single runs). Nothing where the table is none.
std::optional<Leaderboard> leaderboard_of(ScoreReader& scores, const Experiment& experiment,
                                          const TableModel& model,
                                          const std::vector<TableComparison>& comparisons);

/// Learning curves of a leaderboard (leaderboard_figure.cpp): the metric of selection on its split against
/// images, network evaluations and seconds, a small panel a method with all others in grey behind it.
Figure leaderboard_figure(Store& store, const Experiment& experiment);

}  // namespace harness
