#include "trainers/sampling/sde.h"

#include <cmath>
#include <numbers>

namespace harness {

double SdeStep::sqrt_dt() const {
  return std::sqrt(dt);
}

namespace {

/// E8 with the standard deviation that is set.
void take_sde_weights(SdeStep& r) {
  r.s = r.std * r.sqrt_dt();
  r.x_weight = 1 - r.std * r.std / (2 * r.sigma) * r.dt;
  r.velocity_weight = -(1 + r.std * r.std / (2 * r.sigma) * (1 - r.sigma)) * r.dt;
}

void take_cps_weights(SdeStep& r, double following, double level) {
  r.s = following * std::sin(level * std::numbers::pi / 2);
  r.std = r.s / r.sqrt_dt();
  const double kept = std::sqrt(following * following - r.s * r.s);  // of the predicted noise
  r.x_weight = 1 - following + kept;
  r.velocity_weight = -r.sigma * (1 - following) + (1 - r.sigma) * kept;
}

}  // namespace

SdeStep sde_step(std::span<const float> sigmas, int step, StepRule rule) {
  TORCH_CHECK(step >= 0 && static_cast<std::size_t>(step) + 1 < sigmas.size(), "no SDE step ", step);
  const auto k = static_cast<std::size_t>(step);
  SdeStep r{.kind = rule.kind, .sigma = sigmas[k], .dt = static_cast<double>(sigmas[k]) - sigmas[k + 1]};
  TORCH_CHECK(r.dt > 0, "sigmas do not fall at step ", step);
  // E6 diverges at sigma = 1; the public sampler puts the next grid point there.
  const double divisor = 1 - (r.sigma == 1 ? static_cast<double>(sigmas[1]) : r.sigma);
  switch (rule.kind) {
    case StepRule::Kind::kOde:
      r.velocity_weight = -r.dt;
      break;
    case StepRule::Kind::kFlowSde:
      r.std = std::sqrt(r.sigma / divisor) * rule.level;
      take_sde_weights(r);
      break;
    case StepRule::Kind::kConstant:
      r.std = rule.level;
      take_sde_weights(r);
      break;
    case StepRule::Kind::kCps:
      take_cps_weights(r, sigmas[k + 1], rule.level);
      break;
  }
  return r;
}

SdeStep sde_step(std::span<const float> sigmas, int step, double noise_level) {
  return sde_step(sigmas, step, StepRule{StepRule::Kind::kFlowSde, noise_level});
}

torch::Tensor sde_mean(const SdeStep& step, const torch::Tensor& x, const torch::Tensor& velocity) {
  return x * step.x_weight + velocity.to(x.scalar_type()) * step.velocity_weight;
}

torch::Tensor sde_next(const SdeStep& step, const torch::Tensor& mean, const torch::Tensor& noise) {
  return mean + noise * step.s;
}

torch::Tensor sde_log_prob(const SdeStep& step, const torch::Tensor& mean, const torch::Tensor& next) {
  const auto squares = (next - mean).square().flatten(1).mean(1);
  const double log_norm = std::log(step.s) + 0.5 * std::log(2 * std::numbers::pi);
  return squares * (-1 / (2 * step.s * step.s)) - log_norm;
}

torch::Tensor reference_kl(const SdeStep& step, const torch::Tensor& mean,
                           const torch::Tensor& mean_reference, bool per_step_variance) {
  const double deviation = per_step_variance ? step.s : step.std;
  return (mean - mean_reference).square().flatten(1).mean(1) / (2 * deviation * deviation);
}

torch::Tensor euler_step(float sigma, float sigma_next, const torch::Tensor& x,
                         const torch::Tensor& velocity) {
  return x + velocity * (sigma_next - sigma);
}

}  // namespace harness
