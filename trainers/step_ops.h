#pragma once

#include "models/nn/torch.h"
#include "trainers/method.h"
#include "trainers/sampling/sde.h"

namespace harness {

// One step as rollouts and training call it. On a CUDA device, float32 latents go through one kernel each
// (step_kernels.cu, in builds with the cuda preset); everything else goes through the expressions of sde.h
// and reduced_law.h. Which of the two is a matter of device, dtype and build, never of batch or gradients,
// and both give the same bits for means and next latents. Latents, velocities, noise: [B, ...].

struct Transition {
  torch::Tensor mean;  ///< [B, ...] E8
  torch::Tensor next;  ///< [B, ...] mean + s noise
};

/// The transition from x, without gradient. The velocity may have less precision than x and is widened first.
Transition step_transition(const SdeStep& step, const torch::Tensor& x, const torch::Tensor& velocity,
                           const torch::Tensor& noise);

/// The mean of the same transition, bit for bit, differentiable in x and velocity.
torch::Tensor step_mean(const SdeStep& step, const torch::Tensor& x, const torch::Tensor& velocity);

/// [B] each; exactly 0 where the means are equal.
struct ReducedLaw {
  torch::Tensor y;              ///< E22
  torch::Tensor lambda_center;  ///< E27
};

/// The mean-reduced law of a step of standard deviation s, differentiable in mean_new.
ReducedLaw reduced_law(double s, const torch::Tensor& mean_old, const torch::Tensor& mean_new,
                       const torch::Tensor& next);

StepStats step_stats(double s, double dt, int step, bool late, const torch::Tensor& mean_old,
                     const torch::Tensor& mean_new, const torch::Tensor& next);

}  // namespace harness
