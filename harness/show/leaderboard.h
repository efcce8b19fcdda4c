#pragma once

#include <optional>
#include <vector>

#include "harness/read/evaluated_checkpoints.h"
#include "results/chart/figure.h"
#include "results/table/table.h"

namespace harness {

/// What an experiment's table says as a leaderboard, from its rows and `comparisons` (all metrics of the
/// split shown, judged, with the differences of single runs). Nothing where the table is none.
std::optional<Leaderboard> leaderboard_of(ScoreReader& scores, const Experiment& experiment,
                                          const TableModel& model,
                                          const std::vector<Comparison>& comparisons);

/// What it says of one difference to its baseline, or of the baseline to a row, where that is less than
/// better or worse (split_verdict); else empty. It is of its metric, or of one that restates it.
std::string leaderboard_split(ScoreReader& scores, const Experiment& experiment,
                              const Comparison& comparison);

/// What the checkpoints of learning curves are placed by.
enum class CurveAxis { kImages, kEvaluations, kSeconds };

/// Learning curves (leaderboard_figure.cpp): the metric of selection on its split, a small panel a method
/// with the baseline beside it and all others in grey behind them. Throws Error where no run says what it
/// spent.
Figure leaderboard_figure(Store& store, const Experiment& experiment, const std::string& name,
                          CurveAxis axis);

}  // namespace harness
