#pragma once

#include "trainers/method.h"

namespace harness {

/// Late budget tau = -ln(q) / |K_late| (E46), with q from setting `q` or the task. Reports `q` and `tau`.
double late_budget(Settings& settings, const MethodContext& context);
Setting retention_setting();

/// A PPO radius that is a constant or grows with the step's standard deviation.
struct ClipRadius {
  double constant = 0;
  double per_s = 0;  ///< times s_k

  double at(const StepStats& stats) const { return constant + per_s * stats.s; }
};

/// The spread of a method's ratio, by which `public` and `one-sigma` are defined.
enum class RatioFamily {
  kPlain,      ///< exp(y): 1e-4 at D = 65536; sqrt(tau / D)
  kRatioNorm,  ///< exp((y + lc/2) s): the GRPO-Guard values at D = 65536; s_k sqrt(tau / D)
  kLambdaNorm  ///< exp(sqrt(nu) z - nu/2): the task's epsilon under both: nu = epsilon^2 makes it one sigma
};

/// Settings `clip_rule` and `clip`.
std::vector<Setting> clip_settings(RatioFamily family);

/// 1e-4 sqrt(65536 / D): the public radius of kPlain at this latent.
double public_plain_radius(const MethodContext& context);

/// Resolves them. `public` values of kPlain and kRatioNorm are scaled by sqrt(65536 / D), as the standard
/// deviation of a mean-reduced log-ratio at equal lambda_center. Reports `clip`, or `clip_over_s` if the
/// radius grows with s_k. Throws Error if a rule has no value for the task.
ClipRadius clip_radius(Settings& settings, const MethodContext& context, RatioFamily family);

}  // namespace harness
