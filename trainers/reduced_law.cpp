#include "trainers/reduced_law.h"

namespace harness {

torch::Tensor reduced_log_ratio(double s, const torch::Tensor& mean_old, const torch::Tensor& mean_new,
                                const torch::Tensor& next) {
  const auto products = (mean_new - mean_old) * ((next - mean_old) + (next - mean_new));
  return products.flatten(1).mean(1) * (1 / (2 * s * s));
}

torch::Tensor lambda_center(double s, const torch::Tensor& mean_old, const torch::Tensor& mean_new) {
  return (mean_new - mean_old).square().flatten(1).mean(1) * (1 / (s * s));
}

torch::Tensor velocity_lambda(const SdeStep& step, const torch::Tensor& velocity_old,
                              const torch::Tensor& velocity_new) {
  const double variance = step.std * step.std;
  const double gain = 1 + variance * (1 - step.sigma) / (2 * step.sigma);  // E8
  const bool is_cps = step.kind == StepRule::Kind::kCps;
  const double weight = is_cps ? step.velocity_weight * step.velocity_weight / (step.s * step.s)
                               : gain * gain * step.dt / variance;
  const auto wide = [](const torch::Tensor& v) {
    return v.to(at::promote_types(v.scalar_type(), torch::kFloat32));
  };
  const auto shift = wide(velocity_new) - wide(velocity_old);
  return shift.square().flatten(1).mean(1) * weight;
}

torch::Tensor standardised_log_ratio(const StepStats& stats, double eps_lambda) {
  return (stats.y + stats.lambda_center.detach() / 2) / (stats.lambda_var.detach() + eps_lambda).sqrt();
}

}  // namespace harness
