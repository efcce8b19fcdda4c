#pragma once

#include <cstdint>
#include <vector>

#include "backbones/backbone.h"
#include "models/nn/torch.h"
#include "trainers/sampling/noise.h"
#include "trainers/sampling/schedule.h"
#include "trainers/sampling/sde.h"

namespace harness {

// B: images of a shard; K: sampling steps; C, h, w: the latent.

/// Positions of the training prompts of `epoch` (from 1), `count` of `total`, none twice within a pass
/// through the set. Every pass has its own permutation, by Philox address (stream kChoice) from the seed
/// alone: every method sees the same prompts in the same order.
std::vector<int> epoch_prompts(std::uint32_t seed, std::int64_t epoch, std::int64_t count,
                               std::int64_t total);

/// One image of a shard, as noise addresses name it.
struct SampleAddress {
  std::uint32_t prompt = 0;  ///< position in its whole set
  std::uint32_t sample = 0;  ///< which of the prompt's images
};

/// Normal noise [B,C,h,w], made on the CPU: row i belongs to rows[i] whatever else is in the shard.
torch::Tensor shard_noise(std::uint32_t seed, std::uint32_t epoch, NoiseStream stream, int step,
                          const std::vector<SampleAddress>& rows, const LatentShape& latent,
                          torch::Device device);

/// What a shard's sampling leaves for training: everything in float32, K trained steps.
struct Trajectory {
  std::vector<SampleAddress> rows;
  TextCondition condition;
  std::vector<torch::Tensor> x;             ///< K + 1 latents [B,C,h,w]: x[k] before step k
  std::vector<torch::Tensor> mean_old;      ///< K means of the old policy's transitions
  std::vector<torch::Tensor> velocity_old;  ///< K velocities of the old policy, as the backbone gave them
};

/// The noise levels of `steps` steps. Throws Error for NoiseGrid::kModel where the backbone names none of its
/// own.
Schedule schedule_for(const Backbone& backbone, NoiseGrid grid, int steps, double shift);

/// The transitions of a run's sampler, from noise to data.
struct SdeSampler {
  std::vector<SdeStep> steps;  ///< K
  double guidance = 1;

  static SdeSampler make(const Schedule& schedule, double noise_level, double guidance);
};

/// Transition k at x under the backbone's present weights, the bits that a rollout keeps.
struct Drift {
  torch::Tensor velocity;  ///< as the backbone gave it
  torch::Tensor mean;      ///< E8
};
Drift transition_drift(Backbone& backbone, const SdeSampler& sampler, int k, const torch::Tensor& x,
                       const TextCondition& condition);
torch::Tensor transition_mean(Backbone& backbone, const SdeSampler& sampler, int k, const torch::Tensor& x,
                              const TextCondition& condition);

/// Samples a shard with the present weights (no gradient) and keeps its trajectory.
Trajectory sample_trajectory(Backbone& backbone, const SdeSampler& sampler, std::uint32_t seed,
                             std::uint32_t epoch, std::vector<SampleAddress> rows, TextCondition condition);

/// Deterministic Euler sampling of the flow from `noise` (E2) -> latents [B,C,h,w].
torch::Tensor sample_ode(Backbone& backbone, const Schedule& schedule, double guidance, torch::Tensor noise,
                         const TextCondition& condition);

}  // namespace harness
