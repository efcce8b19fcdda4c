#pragma once

#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "trainers/law/path_variance.h"
#include "trainers/loop/train_job.h"
#include "trainers/method.h"
#include "trainers/ranks/ranks.h"

namespace harness {

constexpr double kNoNumber = std::numeric_limits<double>::quiet_NaN();

/// What one (shard, step) of an update leaves for the record.
struct StepTrace {
  std::vector<double> y, lambda_center, ratio, clipped;
  double loss = 0, clip = 0, weight = kNoNumber, slope = kNoNumber;  ///< NaN: the method has none
  double lambda_velocity = kNoNumber;                                ///< NaN where the law is not audited
};

/// Values of x [B], from whatever device.
std::vector<double> to_doubles(const torch::Tensor& x);

/// Writes down what a method made of a step or of a chunk of them, whose loss came to `loss`.
void record_surrogate(StepTrace& trace, const Surrogate& surrogate, double loss);

/// [shard][trained step]
using StepTraces = std::vector<std::vector<StepTrace>>;

/// Fills up what the shards of other processes left; every process has its own part of the shards.
void gather_traces(StepTraces& traces, const Ranks& ranks);

/// The samples of all shards together, a record a trained step.
std::vector<StepRecord> step_records(const StepTraces& traces);

/// The damping of an update (E44), over its shards and steps.
struct Damping {
  double mean_weight = 1;
  double share = 0;  ///< of (shard, step) with a weight below 1
};

/// Nothing where the method damps nowhere.
std::optional<Damping> damping_of(const StepTraces& traces);

}  // namespace harness
