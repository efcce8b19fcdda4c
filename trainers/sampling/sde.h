#pragma once

#include <span>

#include "models/nn/torch.h"

namespace harness {

// B samples, ... the latent's D coordinates. Sampling runs from noise (sigma 1) to data (0).

/// How a step samples the next latent.
struct StepRule {
  enum class Kind {
    kOde,       ///< no noise: Euler's step (E2)
    kFlowSde,   ///< E8 with std = level sqrt(sigma / (1 - sigma)) (E6)
    kConstant,  ///< E8 with std = level (DanceGRPO)
    kCps  ///< coefficients-preserving: noise of deviation s = sigma' sin(level pi / 2) replaces predicted
          ///< noise, so that the whole noise level is sigma' (arXiv 2509.05952)
  } kind = Kind::kFlowSde;
  double level = 0;

  bool operator==(const StepRule&) const = default;
};

/// The numbers of one transition from sigma = sigmas[k] to sigma' = sigmas[k + 1], in float64. Its mean is
/// linear in x and v for every rule.
struct SdeStep {
  StepRule::Kind kind = StepRule::Kind::kFlowSde;
  double sigma = 0;
  double dt = 0;               ///< |sigmas[k + 1] - sigmas[k]|
  double std = 0;              ///< of E8, with sigmas[1] for sigma = 1 in its divisor; s / sqrt(dt) for kCps
  double s = 0;                ///< the standard deviation of the step's noise: std sqrt(dt)
  double x_weight = 1;         ///< of x in the mean
  double velocity_weight = 0;  ///< of v in the mean, negative

  double sqrt_dt() const;
};

/// sigmas: K + 1 falling values; step: 0..K-1.
SdeStep sde_step(std::span<const float> sigmas, int step, StepRule rule);
SdeStep sde_step(std::span<const float> sigmas, int step, double noise_level);  ///< kFlowSde

/// Mean of the next latent. E8: x (1 - std^2 / (2 sigma) dt) - v (1 + std^2 (1 - sigma) / (2 sigma)) dt. CPS:
/// (1 - sigma') (x - sigma v) + sqrt(sigma'^2 - s^2) (x + (1 - sigma) v). x, v: [B, ...]; v may have less
/// precision than x and is widened first.
torch::Tensor sde_mean(const SdeStep& step, const torch::Tensor& x, const torch::Tensor& velocity);

/// mean + s noise.
torch::Tensor sde_next(const SdeStep& step, const torch::Tensor& mean, const torch::Tensor& noise);

/// [B] stored log-probability (E9): mean over the D coordinates of the Gaussian log-density of `next`.
torch::Tensor sde_log_prob(const SdeStep& step, const torch::Tensor& mean, const torch::Tensor& next);

/// [B] mean((mean - mean_ref)^2) / (2 d^2). d = std: the KL term of flow_grpo, which leaves dt out;
/// per_step_variance: d = s, the mean-reduced KL of the two Gaussians (TempFlow-GRPO).
torch::Tensor reference_kl(const SdeStep& step, const torch::Tensor& mean,
                           const torch::Tensor& mean_reference, bool per_step_variance = false);

/// One deterministic Euler step of the flow (E2): x + (sigma_next - sigma) v.
torch::Tensor euler_step(float sigma, float sigma_next, const torch::Tensor& x,
                         const torch::Tensor& velocity);

}  // namespace harness
