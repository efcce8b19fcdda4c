#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "harness/read/evaluated_checkpoints.h"
#include "harness/read/experiments.h"
#include "results/chart/chart.h"
#include "results/table/table.h"

namespace harness {

/// Of axes that count the steps of a trajectory.
inline constexpr const char* kStepLabel = "denoising step k";

/// Training statistics by update: one line a method, the mean over its seeds; the band is their range. Lines
/// of more than `most_points` are averaged over windows of updates.
ChartGroup training_curves(Store& store, const Experiment& experiment, std::int64_t most_points);

/// `metrics` by checkpoint on the split that selection looked at, with intervals (intervals_of_means); the
/// selected checkpoints are ringed. Without charts for a training table.
ChartGroup validation_curves(Store& store, const Experiment& experiment,
                             const std::vector<TableColumn>& metrics);

/// A row's values of a metric on a split.
struct CurveOf {
  std::string method, split, metric;
};

/// A point per checkpoint, at its number: the mean over prompts and seeds with its interval, selected ones
/// marked.
std::vector<ChartPoint> checkpoint_points(ScoreReader& scores,
                                          const std::vector<EvaluatedCheckpoint>& evaluated,
                                          const CurveOf& curve);

/// What the intervals of its curves are, in words: over training runs and prompts where there are enough
/// runs.
std::string intervals_of_means(const Experiment& experiment);

/// The law's drift and variance of the log-ratio by step: a group a method with fresh off-policy samples.
std::vector<ChartGroup> law_charts(Store& store, const Experiment& experiment);

}  // namespace harness
