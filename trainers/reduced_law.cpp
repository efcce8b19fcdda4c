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

torch::Tensor standardised_log_ratio(const StepStats& stats, double eps_lambda) {
  return (stats.y + stats.lambda_center.detach() / 2) / (stats.lambda_var.detach() + eps_lambda).sqrt();
}

StepStats step_stats(double s, double dt, int step, bool late, const torch::Tensor& mean_old,
                     const torch::Tensor& mean_new, const torch::Tensor& next) {
  const std::int64_t latent_size = mean_new.numel() / mean_new.size(0);
  StepStats stats{.y = reduced_log_ratio(s, mean_old, mean_new, next),
                  .lambda_center = lambda_center(s, mean_old, mean_new),
                  .lambda_var = {},
                  .s = s,
                  .dt = dt,
                  .step = step,
                  .late = late,
                  .latent_size = latent_size};
  stats.lambda_var = stats.lambda_center / static_cast<double>(latent_size);
  return stats;
}

}  // namespace harness
