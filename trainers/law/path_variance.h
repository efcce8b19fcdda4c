#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace harness {

/// One denoising step of an update's batch; entry i belongs to the same sample in every step.
struct StepRecord {
  std::vector<double> y = {};              ///< mean-reduced log-ratio (E22)
  std::vector<double> lambda_center = {};  ///< E27
  std::vector<double> ratio = {};          ///< the ratio that the loss uses
  double clip = 0;                         ///< its PPO radius
  std::vector<double> clipped = {};        ///< 1 for a sample whose pull the loss limits; empty: by clip
};

/// Statistics of one step over the batch (E58).
struct StepLaw {
  double lambda_center = 0;   ///< mean (E34)
  double lambda_var = 0;      ///< mean, lambda_center / D (E27)
  double log_ratio_mean = 0;  ///< of y
  double log_ratio_var = 0;   ///< of y, divisor n - 1; NaN for a single sample
  double ratio_median = 0;    ///< of exp(y)
  double step_ess = 0;        ///< effective sample share with weights exp(y) of this step (E21)
  double path_ess = 0;        ///< the same with the products of exp(y) over this and all earlier given steps
  double clip_fraction = 0;   ///< share with |ratio - 1| > clip (E59), or of `clipped`
};

/// One StepLaw per record: the trained steps in sampling order. are_paths: all steps have the same samples,
/// each a path; else path_ess is NaN.
std::vector<StepLaw> step_laws(std::span<const StepRecord> records, std::int64_t latent_size,
                               bool are_paths = true);

double median_of(std::vector<double> values);
double mean_of(std::span<const double> values);
/// Divisor n - 1; NaN of fewer than two.
double sample_variance(std::span<const double> values);

/// Effective sample share (sum w)^2 / (n sum w^2) of weights exp(log_weights), up to any factor (E21).
double effective_share(std::span<const double> log_weights);

/// Mean over the steps: Lambda_late (E47) of lambda_center over late ones, the clip fraction (E59) over all.
double mean_over(std::span<const StepLaw> laws, double StepLaw::*statistic);

}  // namespace harness
