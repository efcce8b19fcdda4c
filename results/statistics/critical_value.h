#pragma once

namespace harness {

/// The variance of a mean difference over training runs and prompts, in the two parts that can be told apart.
/// Both are variances of the mean, not of a single run or prompt.
struct VarianceParts {
  double runs = 0;     ///< what differs from run to run: MS_S / (S G), expectation (run + residual / G) / S
  double prompts = 0;  ///< what all runs share: max(0, MS_P - MS_E) / (S G), expectation prompt / G
  double total() const { return runs + prompts; }
};

/// Degrees of freedom of the two parts: S - 1 (of runs that are not paired Welch's) and G - 1. Both at least
/// 1.
struct PartsFreedom {
  double runs = 1, prompts = 1;
};

/// How many standard errors sqrt(total) a mean difference must lie from a value for the two to differ at this
/// level, two-sided. With R and P the parts and t_R, t_P the critical values of Student's t with their
/// degrees of freedom it is
///   (t_R R^2 + t_P (kappa P)^2) / (R^2 + (kappa P)^2).
/// kappa is the largest number with which equal methods differ in at most `level` of cases (but for a
/// hundredth of it), whatever share of the variance the runs truly have. It is found by quadrature, for P
/// known and normal differences, as Trickett and Welch (1954, Biometrika 41) found their critical values.
/// Cochran and Cox (1950, Experimental Designs) weight by R and P, which is conservative. The squares are
/// those of Satterthwaite's degrees of freedom (1946, Biometrics Bulletin 2), (S - 1) (R + P)^2 / R^2 for P
/// known; a t with these calls equal methods different in up to 7.8 % of cases at 3 runs and level 0.05.
class CriticalValue {
 public:
  CriticalValue(const PartsFreedom& freedom, double level);
  /// parts.total() must be above 0.
  double operator()(const VarianceParts& parts) const;

 private:
  double runs_, prompts_, kappa_;
};

/// The smallest level at which `t` standard errors are beyond the critical value: a two-sided p-value, which
/// is below `level` exactly where the interval delta +- CriticalValue sqrt(total) leaves out 0.
double crossed_p_value(double t, const VarianceParts& parts, const PartsFreedom& freedom);

/// P(a mean difference lies beyond its critical value) where the true difference is `effect` and the true
/// variances are `parts`, by quadrature over the runs' part of the estimate; the prompts' part counts as
/// known. An effect of 0 gives the rate of false differences.
double rejection_rate(double effect, const VarianceParts& parts, const PartsFreedom& freedom, double level);

/// kappa of CriticalValue, for `freedom` degrees of freedom of the runs, which are rounded down: fewer give a
/// smaller kappa. Found once for a number of runs (some 30 ms) and kept; safe to call from several threads.
double prompts_weight(double freedom, double level);

}  // namespace harness
