#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/json.h"

namespace harness {

/// One step's n samples of one update against the law, as means over them. For fresh samples the mean-reduced
/// log-ratio y has mean -lc / 2 and variance lv = lc / D given the state (E24). So the drift error y + lc / 2
/// has mean 0, and the variance error n / (n - 1) ((y - mean y)^2 - (lc - mean lc)^2 / 4) - lv averages to
/// their variance minus E25's prediction, both with divisor n - 1.
struct LawErrors {
  double predicted_variance = 0;             ///< E[lv] + Var(lc) / 4 (E25), Var with divisor n - 1
  double drift = 0, drift_square = 0;        ///< means of the error and of its square
  double variance = 0, variance_square = 0;  ///< likewise
  double own = 0, own_square = 0;            ///< means of lv and of its square
};
/// log_ratios: y; centers: lc, of the same samples (n >= 1).
LawErrors law_errors(std::span<const double> log_ratios, std::span<const double> centers, double latent_size);

/// The law at one step, over a run so far.
struct StepAudit {
  int step = 0;
  std::int64_t samples = 0;
  /// Of y, with the standard error of their difference: the larger of the samples' own and the law's (lv / n,
  /// 2 lv^2 / n), as a few samples may be close together by chance.
  double predicted_mean = 0, measured_mean = 0, mean_se = 0;
  double predicted_variance = 0, measured_variance = 0, variance_se = 0;  ///< likewise (E25)

  double mean_z() const;  ///< (measured - predicted) / standard error; 0 where that is 0
  double variance_z() const;
};

enum class LawBreak { kNone, kTimeDirection, kDiffusion, kPrecision, kUnknown };

struct LawVerdict {
  LawBreak what = LawBreak::kNone;
  std::string message = {};  ///< what was seen, what it means, what to do; empty where the law holds
  bool holds() const { return what == LawBreak::kNone; }
};

/// Online audit of the path-variance law over fresh samples, whose noise is independent of the policy's move.
/// Trajectories enter once per step, so that independent standard errors are those clustered by trajectory.
class LawAudit {
 public:
  /// steps: K of the sampler; noise_level: a of E6, to recognise a wrong time direction by its factor.
  LawAudit(int steps, double latent_size, double noise_level);

  /// Adds one step's samples of an update and returns their errors. On-policy ones (all zero) are not added.
  LawErrors add(int step, std::span<const double> log_ratios, std::span<const double> centers);

  /// One entry per step with at least two samples.
  std::vector<StepAudit> steps() const;

  /// Broken if a step with enough fresh samples deviates beyond the limits of core/law_limits.h.
  LawVerdict verdict() const;

  Json state() const;
  /// Throws Error (with `where`) for a state of another number of steps.
  void restore(const Json& state, const std::string& where);

 private:
  struct Sums : LawErrors {
    double samples = 0, log_ratio = 0, center = 0;
  };
  std::vector<Sums> sums_;
  double latent_size_, noise_level_;
};

}  // namespace harness
