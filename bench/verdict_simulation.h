#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "results/statistics/critical_value.h"
#include "results/statistics/numeric.h"
#include "results/statistics/statistics.h"
#include "results/statistics/verdict.h"

namespace harness {

/// Simulated comparisons of 762 prompts, judged by the functions that judge real ones.
inline constexpr int kSimulatedPrompts = 762;
inline constexpr double kSimulatedLevel = 0.05;
/// Of a table: its metrics, without one that restates the first, and its methods other than the baseline.
inline const std::vector<std::string> kSimulatedMetrics = {"ocr_reward", "cer", "exact_match", "clip_score"};
inline constexpr int kSimulatedMethods = 2;

/// The noise of a paired difference: `prompt_se` is the standard error over prompts of one run's mean, a part
/// `stable` of its variance being the same in all runs.
struct Noise {
  double prompt_se = 0, run_sd = 0, stable = 0;
  double prompt_variance() const { return stable * prompt_se * prompt_se * kSimulatedPrompts; }
  double residual_variance() const { return (1 - stable) * prompt_se * prompt_se * kSimulatedPrompts; }
};

class Random {
 public:
  explicit Random(std::uint64_t cell) : bits_(20260501 + cell) {}
  double normal(double variance) { return std::sqrt(variance) * normal_(bits_); }
  double mean_square(double variance, double freedom) {
    return variance * std::chi_squared_distribution<double>(freedom)(bits_) / freedom;
  }
  double uniform() { return static_cast<double>(bits_() >> 11) * 0x1p-53; }

 private:
  std::mt19937_64 bits_;
  std::normal_distribution<double> normal_;
};

/// What a simulated comparison is made of. Of normal values, run means and mean squares hold all there is to
/// know and are independent, so that drawing them is drawing 762 prompts.
struct Drawn {
  std::vector<RunDifference> per_run;
  double prompt_square = 0, residual_square = 0;
};

/// What is fixed in a cell.
struct Rule {
  explicit Rule(int runs)
      : freedom{static_cast<double>(runs - 1), kSimulatedPrompts - 1},
        crossed(freedom, kSimulatedLevel),
        prompts(t_critical(kSimulatedPrompts - 1, kSimulatedLevel)) {}
  PartsFreedom freedom;
  CriticalValue crossed;
  double prompts;  ///< of the t over prompts alone
};

/// One comparison by both rules: crossed, and over prompts with the runs as they are.
struct Estimate {
  double delta = 0;
  Interval crossed, prompts;
  double crossed_p = 1;  ///< 1 where the interval holds 0: Holm's claims at 0.05 do not depend on it there
  double prompts_p = 1;  ///< likewise
  double standard_error = 0;  ///< crossed
  VarianceParts parts = {};
};

Estimate estimate(const Drawn& drawn, const Rule& rule);

/// Run means of one arm: half the variance of a difference.
std::vector<double> arm_means(const Noise& noise, int runs, Random& random);
Drawn drawn(const Noise& noise, std::span<const double> baseline, std::span<const double> method,
            Random& random);

/// Counts over the tables of one cell.
struct Rates {
  std::int64_t comparisons = 0, covered = 0, tables = 0;
  std::int64_t claims = 0, tables_with_claim = 0;            ///< crossed, Holm over the table
  std::int64_t firm_claims = 0, tables_with_firm_claim = 0;  ///< and the checkpoints differ
  double half_width = 0;                                     ///< sum
};

/// One table of equal methods: four metrics and a restated one, two methods against one baseline.
void add_table(const Noise& noise, int runs, const Rule& rule, Random& random, Rates& rates);

/// Guardrails of a simulated panel, each harmed by a fall beyond the minimal effect.
inline constexpr int kSimulatedGuardrails = 7;
inline constexpr double kMinimalEffect = 0.02;

/// What moved in truth.
struct Truth {
  std::string_view text;
  double reward = 0, guardrail = 0;
};
/// The share of panels (percent) that raise an alarm; of checkpoints: that have something to watch, as the
/// same runs give where nothing may be claimed of methods.
double alarm_share(const Truth& truth, const Noise& noise, int runs, Claim claim, int panels, Random& random);

}  // namespace harness
