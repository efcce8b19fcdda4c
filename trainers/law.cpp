#include "trainers/law.h"

#include <cmath>
#include <limits>
#include <numbers>
#include <stdexcept>

namespace harness {
namespace {

double normal_cdf(double x) {
  return 0.5 * std::erfc(-x / std::numbers::sqrt2);
}

/// P(N(mean, variance) < bound).
double below(double bound, double mean, double variance) {
  if (variance > 0) return normal_cdf((bound - mean) / std::sqrt(variance));
  return mean < bound ? 1 : 0;
}

double sign_of(TimeDirection direction) {
  return direction == TimeDirection::kNoiseToData ? 1 : -1;
}

}  // namespace

RatioMoments lognormal_moments(double log_mean, double log_var) {
  const double mean = std::exp(log_mean + log_var / 2);
  return {.mean = mean, .median = std::exp(log_mean), .variance = mean * mean * std::expm1(log_var)};
}

LogRatioMoments total_variance(std::span<const double> centers, double latent_size) {
  double mean = 0, squares = 0;
  for (const double center : centers) mean += center / static_cast<double>(centers.size());
  for (const double center : centers) squares += (center - mean) * (center - mean);
  const double spread = centers.size() > 1 ? squares / static_cast<double>(centers.size() - 1) : 0;
  return {.mean = -mean / 2, .variance = mean / latent_size + spread / 4};
}

ClipTails clip_tails(double log_mean, double log_var, double clip) {
  return {.lower = below(std::log1p(-clip), log_mean, log_var),
          .upper = below(-std::log1p(clip), -log_mean, log_var)};
}

ClipTails surrogate_clip_tails(double nu, double clip) {
  return clip_tails(-nu / 2, nu, clip);
}

double predicted_ess(std::span<const double> log_variances) {
  double sum = 0;
  for (const double variance : log_variances) sum += variance;
  return std::exp(-sum);
}

double velocity_gain(const SdeStep& step, TimeDirection direction) {
  return 1 + sign_of(direction) * step.std * step.std * (1 - step.sigma) / (2 * step.sigma);
}

torch::Tensor velocity_lambda(const SdeStep& step, TimeDirection direction, const torch::Tensor& velocity_old,
                              const torch::Tensor& velocity_new) {
  const double gain = velocity_gain(step, direction);
  return (velocity_new - velocity_old).square().flatten(1).sum(1) *
         (gain * gain * step.dt / (step.std * step.std));
}

double scheduled_velocity_lambda(double t, double dt, double noise_level, TimeDirection direction,
                                 double squared_velocity_shift) {
  if (!(t > 0 && t < 1))
    throw std::invalid_argument("the schedule of E6 has no finite diffusion at t = 0 or 1");
  const double gain = 1 + sign_of(direction) * noise_level * noise_level / 2;
  return gain * gain * squared_velocity_shift * (1 - t) / (noise_level * noise_level * t) * dt;
}

RatioBasedLambda ratio_based_lambda(const torch::Tensor& log_ratios) {
  const auto wide = log_ratios.detach().to(torch::kFloat64).flatten();
  const double from_variance =
      wide.numel() > 1 ? wide.var().item<double>() : std::numeric_limits<double>::quiet_NaN();
  return {.from_variance = from_variance, .from_mean = -2 * wide.mean().item<double>()};
}

double endpoint_lambda(double mean_squared_drift_shift, double t, double dt, double noise_level) {
  return mean_squared_drift_shift * (1 - t) * dt / (noise_level * noise_level * t);
}

}  // namespace harness
