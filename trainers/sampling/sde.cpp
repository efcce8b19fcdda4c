#include "trainers/sampling/sde.h"

#include <cmath>
#include <numbers>

namespace harness {

double SdeStep::sqrt_dt() const {
  return std::sqrt(dt);
}

double SdeStep::x_weight() const {
  return 1 - std * std / (2 * sigma) * dt;
}

double SdeStep::velocity_weight() const {
  return -(1 + std * std / (2 * sigma) * (1 - sigma)) * dt;
}

SdeStep sde_step(std::span<const float> sigmas, int step, double noise_level) {
  TORCH_CHECK(step >= 0 && static_cast<std::size_t>(step) + 1 < sigmas.size(), "no SDE step ", step);
  const auto k = static_cast<std::size_t>(step);
  SdeStep r{.sigma = sigmas[k], .dt = static_cast<double>(sigmas[k]) - sigmas[k + 1]};
  TORCH_CHECK(r.dt > 0, "sigmas do not fall at step ", step);
  // E6 diverges at sigma = 1; the public sampler puts the next grid point there.
  const double divisor = 1 - (r.sigma == 1 ? static_cast<double>(sigmas[1]) : r.sigma);
  r.std = std::sqrt(r.sigma / divisor) * noise_level;
  r.s = r.std * r.sqrt_dt();
  return r;
}

torch::Tensor sde_mean(const SdeStep& step, const torch::Tensor& x, const torch::Tensor& velocity) {
  return x * step.x_weight() + velocity.to(x.scalar_type()) * step.velocity_weight();
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
                           const torch::Tensor& mean_reference) {
  return (mean - mean_reference).square().flatten(1).mean(1) / (2 * step.std * step.std);
}

torch::Tensor euler_step(float sigma, float sigma_next, const torch::Tensor& x,
                         const torch::Tensor& velocity) {
  return x + velocity * (sigma_next - sigma);
}

}  // namespace harness
