#pragma once

#include <span>

#include "models/torch.h"
#include "trainers/sde.h"

namespace harness {

// The path-variance law as the paper states it (EQUATIONS.md E14 to E43): what a Gaussian transition kernel
// whose mean moves by a given amount does to the log-ratio, in closed form. Pure functions. B: samples, D:
// latent coordinates, K: steps. lambda is the full-likelihood path variance of one step, lc = lambda / D and
// lv = lambda / D^2 the scales of the mean-reduced log-ratio.

// --- Lognormal law (E17 to E19, E26) ---

/// Mean, median and variance of a ratio whose log is normal with mean `log_mean` and variance `log_var` (E18
/// has log_mean -lambda / 2 and log_var lambda; E26 has -lc / 2 and lv).
struct RatioMoments {
  double mean = 0, median = 0, variance = 0;
};
RatioMoments lognormal_moments(double log_mean, double log_var);

/// Mean and variance of the log-ratio over a batch in which lambda itself varies (E19, E25).
struct LogRatioMoments {
  double mean = 0, variance = 0;
};
/// centers: lc of each sample; latent_size: D. Mean -E[lc] / 2, variance E[lc] / D + Var(lc) / 4 (E25), Var
/// with divisor n - 1 (0 for one sample): what a batch variance of that divisor has as its expectation. With
/// latent_size 1 the same formulas are E19 for the full log-ratio.
LogRatioMoments total_variance(std::span<const double> centers, double latent_size);

// --- Clipping tails (E20, E43) ---

/// Probabilities that a ratio exp(N(log_mean, log_var)) lies below 1 - clip and above 1 + clip.
struct ClipTails {
  double lower = 0, upper = 0;
  double sum() const { return lower + upper; }
  double imbalance() const { return lower - upper; }
};
/// clip in (0, 1); log_var > 0, or 0 for a ratio that is exp(log_mean) for certain.
ClipTails clip_tails(double log_mean, double log_var, double clip);

/// E43: the tails of LambdaNorm-T's surrogate ratio exp(sqrt(nu) z - nu / 2), z standard normal.
ClipTails surrogate_clip_tails(double nu, double clip);

// --- Effective sample size (E21) ---

/// exp(-sum of variances): ESS / n of weights that are the product of independent lognormal ratios with unit
/// mean. One variance: a step; all of a path's: the path.
double predicted_ess(std::span<const double> log_variances);

// --- Estimators of lambda (E27 to E33) ---

/// Which way time runs in a drift formula. The sampler of E8 runs from noise to data.
enum class TimeDirection { kNoiseToData, kDataToNoise };

/// The factor of v in the drift (E28): 1 + std^2 (1 - t) / (2 t) from noise to data, minus in place of plus
/// the other way.
double velocity_gain(const SdeStep& step, TimeDirection direction);

/// [B] velocity-only lambda (E29): gain^2 |v_new - v_old|^2 dt / std^2, the sum over the D coordinates;
/// divide by D for lc and by D^2 for lv. velocities: [B, ...].
torch::Tensor velocity_lambda(const SdeStep& step, TimeDirection direction, const torch::Tensor& velocity_old,
                              const torch::Tensor& velocity_new);

/// E29 in the form that E6 gives it: (1 +- a^2 / 2)^2 |dv|^2 (1 - t) / (a^2 t) dt, with a the noise level.
/// Equal to the above except at t = 1, where the sampler replaces the diverging E6. Throws
/// std::invalid_argument there.
double scheduled_velocity_lambda(double t, double dt, double noise_level, TimeDirection direction,
                                 double squared_velocity_shift);

/// Ratio-based estimates from a batch of log-ratios [B] (E30 for summed log-probabilities, E31 for
/// mean-reduced ones): the variance (divisor n - 1) estimates lambda (lv), and -2 times the mean estimates
/// lambda (lc).
struct RatioBasedLambda {
  double from_variance = 0, from_mean = 0;
};
RatioBasedLambda ratio_based_lambda(const torch::Tensor& log_ratios);

/// E33: mean path variance of a step from the mean squared velocity-drift shift Delta = E|b_new - b_old|^2:
/// Delta (1 - t) dt / (a^2 t). Diverges as t -> 0 unless Delta = O(t).
double endpoint_lambda(double mean_squared_drift_shift, double t, double dt, double noise_level);

}  // namespace harness
