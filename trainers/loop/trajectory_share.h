#pragma once

#include <vector>

#include "trainers/loop/step_trace.h"
#include "trainers/method.h"

namespace harness {

/// The loss of a TrajectoryMethod on one shard, and its derivative by each log-ratio as the shard's share of
/// the update.
struct TrajectoryShare {
  torch::Tensor derivative;           ///< [T,B] by y
  double loss = 0;                    ///< of the shard
  std::vector<Surrogate> surrogates;  ///< detached
  std::vector<std::size_t> of_step;   ///< T: index of each step's surrogate

  /// [B] derivative by y of trained step k; fills in the step's trace.
  torch::Tensor describe(std::size_t k, StepTrace& trace) const;
};

/// of_counted: samples of the update over those that are not left out; shards: of the update.
TrajectoryShare trajectory_share(const TrajectoryMethod& method, TrajectoryStats stats, double of_counted,
                                 std::size_t shards);

}  // namespace harness
