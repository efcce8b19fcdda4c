#pragma once

#include <string>
#include <vector>

#include "core/json.h"
#include "core/processes/worker_pool.h"
#include "trainers/loop/train_job.h"
#include "trainers/rollout.h"

namespace harness {

/// What rounding to bfloat16 or float16 adds to the path variance between two policies, per trained step of
/// one shard: means over its samples of E27's lambda_center.
struct RoundingFloor {
  std::vector<double> measured;  ///< lambda_center, as the run measures it
  std::vector<double> rounding;  ///< its part that is rounding

  double late(int late_steps) const;  ///< mean of `rounding` over the last steps
};

/// For the move from `before`, the trained weights that sampled the shard, to the present ones, which are
/// left unchanged. The move without rounding is a central difference of the means over four times its length.
/// Three evaluations per trained step. Not thread-safe.
RoundingFloor rounding_floor(Backbone& backbone, WorkerPool& pool, const SdeSampler& sampler,
                             const Rollout& shard, const std::vector<torch::Tensor>& before);

/// Whether the velocity network has parameters of this type.
bool has_parameters_of(Backbone& backbone, torch::ScalarType type);

/// Whether rounding can dominate a run's log-ratios: a float32 adapter on a narrower network.
bool rounds_log_ratios(Backbone& backbone);

/// Compares rounding with the settings `tau` and `clip` of the method, if it has them. settings: the
/// effective ones.
std::string rounding_note(const MeasuredRounding& measured, std::int64_t latent_size, const Json& settings);

/// A warning if rounding exceeds a tenth of `tau` or `clip`; else empty.
std::string rounding_warning(const MeasuredRounding& measured, std::int64_t latent_size,
                             const Json& settings);

}  // namespace harness
