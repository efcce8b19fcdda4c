#pragma once

#include <cstdint>
#include <vector>

#include "backbones/backbone.h"
#include "models/nn/torch.h"
#include "trainers/sampling/noise.h"
#include "trainers/sampling/rollout_plan.h"
#include "trainers/sampling/schedule.h"
#include "trainers/sampling/sde.h"

namespace harness {

// B: images of a shard; K: sampling steps; C, h, w: the latent.

/// The training prompts of `epoch` (from 1), `count` of `total`, none twice within a pass through the set.
/// Each pass has its own permutation, by Philox address (stream kChoice) from the seed alone: equal for every
/// method.
std::vector<int> epoch_prompts(std::uint32_t seed, std::int64_t epoch, std::int64_t count,
                               std::int64_t total);

/// One image of a shard, as noise addresses name it.
struct SampleAddress {
  std::uint32_t prompt = 0;  ///< position in its whole set
  std::uint32_t sample = 0;  ///< which of the prompt's images
};

/// Normal noise [B,C,h,w], made on the CPU: row i depends on rows[i] alone.
torch::Tensor shard_noise(std::uint32_t seed, std::uint32_t epoch, NoiseStream stream, int step,
                          const std::vector<SampleAddress>& rows, const LatentShape& latent,
                          torch::Device device);

/// One trained step of a shard's rollout: transitions from Q distinct latents to E next ones. The velocity
/// network is called once on each x.
struct EdgeBlock {
  int step = 0;                                      ///< k of the sampler
  TextCondition condition;                           ///< of the Q latents' prompts
  torch::Tensor x;                                   ///< [Q,C,h,w] latents before the step
  torch::Tensor mean_old;                            ///< [Q,C,h,w] means of the old policy's transitions
  torch::Tensor velocity_old;                        ///< [Q,C,h,w] its velocities, in the backbone's type
  torch::Tensor next;                                ///< [E,C,h,w] latents after the step
  torch::Tensor advantage = {}, advantage_raw = {};  ///< [E] of a forest; undefined: those of the images
  torch::Tensor parent = {};  ///< [E] int64: of which x each `next` is; undefined: E = Q, of that of its row

  /// Rows of x [Q, ...] for each of the E transitions.
  torch::Tensor of_edges(const torch::Tensor& of_parents) const;
};

/// A shard's samples for training, float32.
struct Rollout {
  std::vector<SampleAddress> rows;  ///< of the images
  TextCondition condition;          ///< of the images' prompts
  std::vector<EdgeBlock> edges;     ///< of the trained steps, in order
  torch::Tensor leaves;             ///< [B,C,h,w] clean latents of the images
};

/// Rows of a condition; rows: [n] int64.
TextCondition condition_of(const TextCondition& condition, const torch::Tensor& rows);

/// The noise levels of `steps` steps. Throws Error for NoiseGrid::kModel if the backbone has none of its own.
Schedule schedule_for(const Backbone& backbone, NoiseGrid grid, int steps, double shift);

/// The transitions of an epoch's sampler, from noise to data.
struct SdeSampler {
  RolloutPlan plan;
  std::vector<float> sigmas;              ///< K + 1
  std::vector<SdeStep> steps;             ///< K
  std::vector<float> finish_sigmas = {};  ///< of the multistep solver that ends the rollout, if one does

  static SdeSampler make(const Schedule& schedule, const RolloutPlan& plan);
  /// Flow-SDE at every step, all trained.
  static SdeSampler make(const Schedule& schedule, double noise_level, double guidance);
};

/// Transition k at x with the present weights, bitwise as in a rollout.
struct Drift {
  torch::Tensor velocity;  ///< in the backbone's type
  torch::Tensor mean;      ///< E8
};
Drift transition_drift(Backbone& backbone, const SdeSampler& sampler, int k, const torch::Tensor& x,
                       const TextCondition& condition);
torch::Tensor transition_mean(Backbone& backbone, const SdeSampler& sampler, int k, const torch::Tensor& x,
                              const TextCondition& condition);

/// Samples a shard with the present weights, without gradient. rows: the images, prompt after prompt; a
/// forest has plan.images_of_a_prompt() for each.
Rollout sample_rollout(Backbone& backbone, const SdeSampler& sampler, std::uint32_t seed, std::uint32_t epoch,
                       std::vector<SampleAddress> rows, TextCondition condition);

/// Deterministic Euler sampling of the flow from `noise` (E2) -> latents [B,C,h,w].
torch::Tensor sample_ode(Backbone& backbone, const Schedule& schedule, double guidance, torch::Tensor noise,
                         const TextCondition& condition);

}  // namespace harness
