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

}  // namespace harness
