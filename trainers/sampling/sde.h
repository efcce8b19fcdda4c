#pragma once

#include <span>

#include "models/nn/torch.h"

namespace harness {

// B samples, ... the latent's D coordinates. Sampling runs from noise (sigma 1) to data (0).

/// The numbers of one SDE transition from sigmas[k] to sigmas[k + 1], in float64.
struct SdeStep {
  double sigma = 0;
  double dt = 0;   ///< |sigmas[k + 1] - sigmas[k]|
  double std = 0;  ///< sigma_k of E6: noise_level sqrt(sigma / (1 - sigma)); sigmas[1] below where sigma is 1
  double s = 0;    ///< std sqrt(dt), the standard deviation of the step's noise

  double sqrt_dt() const;
  double x_weight() const;         ///< of x in the mean (E8)
  double velocity_weight() const;  ///< of v in the mean, negative
};

/// sigmas: K + 1 falling values; step: 0..K-1.
SdeStep sde_step(std::span<const float> sigmas, int step, double noise_level);

/// Mean of the next latent (E8): x (1 - std^2 / (2 sigma) dt) - v (1 + std^2 (1 - sigma) / (2 sigma)) dt. x,
/// v: [B, ...]; v may have less precision than x and is widened first.
torch::Tensor sde_mean(const SdeStep& step, const torch::Tensor& x, const torch::Tensor& velocity);

/// mean + s noise.
torch::Tensor sde_next(const SdeStep& step, const torch::Tensor& mean, const torch::Tensor& noise);

/// [B] stored log-probability (E9): mean over the D coordinates of the Gaussian log-density of `next`.
torch::Tensor sde_log_prob(const SdeStep& step, const torch::Tensor& mean, const torch::Tensor& next);

/// [B] mean((mean - mean_ref)^2) / (2 std^2): the KL term of the public code, not divided by dt.
torch::Tensor reference_kl(const SdeStep& step, const torch::Tensor& mean,
                           const torch::Tensor& mean_reference);

/// One deterministic Euler step of the flow (E2): x + (sigma_next - sigma) v.
torch::Tensor euler_step(float sigma, float sigma_next, const torch::Tensor& x,
                         const torch::Tensor& velocity);

}  // namespace harness
