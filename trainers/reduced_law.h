#pragma once

#include "models/nn/torch.h"
#include "trainers/method.h"
#include "trainers/sampling/sde.h"

namespace harness {

// The mean-reduced law of one step, from stored means: as a difference of log-probabilities y would be a
// small difference of large numbers. Means and next: [B, ...]; s: the step's standard deviation; results:
// [B].

/// y = mean((mean_new - mean_old) (2 next - mean_old - mean_new)) / (2 s^2), the difference of the E9
/// log-probabilities (E22). Exactly 0 where the means are equal.
torch::Tensor reduced_log_ratio(double s, const torch::Tensor& mean_old, const torch::Tensor& mean_new,
                                const torch::Tensor& next);

/// lambda_center = mean(((mean_new - mean_old) / s)^2) (E27).
torch::Tensor lambda_center(double s, const torch::Tensor& mean_old, const torch::Tensor& mean_new);

/// lambda_center from velocities (E29 over D): gain^2 mean((v_new - v_old)^2) dt / std^2 with the gain of a
/// drift from noise to data, as the sampler's (E28): 1 + std^2 (1 - t) / (2 t), t = sigma. The paper prints
/// the other direction's, with a minus. Narrower velocities are widened first.
torch::Tensor velocity_lambda(const SdeStep& step, const torch::Tensor& velocity_old,
                              const torch::Tensor& velocity_new);

/// z = (y + lambda_center / 2) / sqrt(lambda_var + eps_lambda), the lambdas without gradient (E35).
torch::Tensor standardised_log_ratio(const StepStats& stats, double eps_lambda);

}  // namespace harness
