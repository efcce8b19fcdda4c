#pragma once

#include <string>
#include <vector>

#include "core/json.h"
#include "core/processes/worker_pool.h"
#include "trainers/loop/train_job.h"
#include "trainers/rollout.h"

namespace harness {

/// What the rounding of a network in bfloat16 or float16 adds to the path variance between two policies, by
/// trained step of one shard: E27's lambda_center, means over its samples.
struct RoundingFloor {
  std::vector<double> measured;  ///< of the weights' move, as the run sees it
  std::vector<double> rounding;  ///< of what is not that move in it

  double late(int late_steps) const;  ///< mean of `rounding` over so many of the last steps
};

/// Of the move from `before`, the trained weights that sampled the shard, to the present ones, which stay as
/// they are. The move itself is the derivative of the means along it, a central difference over
/// four times its length: rounding is a small part of that, and so are the means' second and third
/// derivatives. Three evaluations of each trained step. Call while no other thread computes.
RoundingFloor rounding_floor(Backbone& backbone, WorkerPool& pool, const SdeSampler& sampler,
                             const Rollout& shard, const std::vector<torch::Tensor>& before);

/// Whether the velocity network has parameters of this type.
bool has_numbers(Backbone& backbone, torch::ScalarType type);

/// Whether a run's log-ratios may be rounding: a float32 adapter of a network that is none.
bool rounds_log_ratios(Backbone& backbone);

/// It beside the method's settings `tau` and `clip`, as far as it has them. settings: its effective ones.
std::string rounding_note(const MeasuredRounding& measured, std::int64_t latent_size, const Json& settings);

/// What a run is told of it beside its settings `tau` and `clip`, where it is more than a tenth of one; else
/// nothing.
std::string rounding_warning(const MeasuredRounding& measured, std::int64_t latent_size,
                             const Json& settings);

}  // namespace harness
