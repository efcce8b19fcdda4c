#pragma once

#include <limits>
#include <optional>
#include <vector>

#include "trainers/law/path_variance.h"
#include "trainers/loop/train_job.h"
#include "trainers/method.h"

namespace harness {

constexpr double kNoNumber = std::numeric_limits<double>::quiet_NaN();

/// Statistics of one (shard, step) of an update.
struct StepTrace {
  std::vector<double> y, lambda_center, ratio, clipped;
  double loss = 0, clip = 0, weight = kNoNumber, slope = kNoNumber;  ///< NaN: the method has none
  double lambda_velocity = kNoNumber;                                ///< NaN if the law is not audited
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(StepTrace, y, lambda_center, ratio, clipped, loss, clip, weight, slope,
                                   lambda_velocity)

/// Values of x [B] on any device.
std::vector<double> to_doubles(const torch::Tensor& x);

/// Records the surrogate of a step or chunk of steps, and its loss.
void record_surrogate(StepTrace& trace, const Surrogate& surrogate, double loss);

/// [shard][trained step]
using StepTraces = std::vector<std::vector<StepTrace>>;

/// The samples of all shards, one record per trained step.
std::vector<StepRecord> step_records(const StepTraces& traces);

/// The damping of an update (E44), over its shards and steps.
struct Damping {
  double mean_weight = 1;
  double share = 0;  ///< of (shard, step) with a weight below 1
};

/// Empty if the method damps no step.
std::optional<Damping> damping_of(const StepTraces& traces);

}  // namespace harness
