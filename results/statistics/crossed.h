#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "results/statistics/bootstrap.h"
#include "results/statistics/critical_value.h"
#include "results/statistics/paired.h"

namespace harness {

/// A method is called better only from this many training runs on.
inline constexpr std::int64_t kFewestRuns = 3;

/// And from this many prompts (clusters) on: with 2 of them and 10 runs of equal methods 13 % of intervals
/// exclude 0, with 5 5.7 %, and at the levels of Holm's first steps several times the level.
inline constexpr std::int64_t kFewestPrompts = 16;

/// Variances of d = mu + a_s + b_p + e_sp, the difference of run s on prompt (cluster) p.
struct VarianceComponents {
  double run = 0;       ///< of a_s: moves all prompts of a run alike
  double prompt = 0;    ///< of b_p: moves a prompt alike in all runs
  double residual = 0;  ///< of e_sp: the rest
};

enum class CrossedState {
  kEstimated,
  kEqual,       ///< every difference is 0
  kNoSpread,    ///< the differences do not vary, neither over runs nor over prompts; or three runs and more
                ///< agree to the bit
  kTooFewRuns,  ///< one run
  kTooFewClusters  ///< one cluster
};

/// What one pair of runs says: the mean difference over the clusters that all runs have.
struct RunDifference {
  std::int64_t seed = 0;
  double delta = 0;
};

/// A method against a baseline over S pairs of training runs and G clusters of prompts.
struct CrossedComparison {
  CrossedState state = CrossedState::kEstimated;
  std::int64_t runs = 0, clusters = 0;
  std::int64_t clusters_left_out = 0;  ///< that lack a complete pair in some run
  double delta = 0;                    ///< mean of per_run
  std::vector<RunDifference> per_run;  ///< in order of the seeds
  bool of_runs_alone = false;          ///< over_runs: there are no prompts

  // Only where state is kEstimated.
  VarianceComponents components = {};
  VarianceParts parts = {};  ///< of the variance of delta
  PartsFreedom parts_freedom = {};
  std::optional<double> standard_error = {};  ///< sqrt(parts.total())
  std::optional<double> critical = {};        ///< half the interval's width over the standard error
  std::optional<double> freedom = {};         ///< of the Student's t that has this critical value
  std::optional<double> p_value = {};         ///< two-sided
  std::optional<Interval> ci = {};
};

/// The mean difference with an interval that holds the noise between runs, between prompts and of both, as an
/// analysis of variance of runs x clusters gives it (Searle, Casella and McCulloch 1992, Variance Components,
/// chapter 4): Var(delta) = (MS_S + max(0, MS_P - MS_E)) / (S G). A negative MS_P - MS_E is not added:
/// prompts then differ by less than the residual explains, and MS_S alone has its share of that. A cluster
/// counts with the mean number of its pairs in a run. Those that lack a run are left out: a prompt missing in
/// one run then cannot pass for a difference between runs, and the analysis is the balanced one, which is
/// exact. Runs without any complete pair do not count. Nothing where no cluster is left.
/// runs_are_paired = false: the runs of the two sides share nothing, and it does not matter which is named
/// beside which: MS_S and MS_E are the sums of those of either side, A and B, and the runs have Welch's
/// degrees of freedom, (S - 1) (A + B)^2 / (A^2 + B^2) (1947, Biometrika 34). Of those the pairs are what
/// keep_samples_of_all_runs leaves.
std::optional<CrossedComparison> crossed(std::span<const PairedValue> pairs, double confidence = 0.95,
                                         bool runs_are_paired = true);

/// Gives an estimate whose runs vary less than this part of the variance of delta that part, with the
/// component that follows. True where it did: the interval is to be made anew.
bool raise_run_variance(double least, CrossedComparison& comparison);

/// Interval, p and what goes with them of an estimate, from its parts.
void renew_interval(CrossedComparison& comparison);

/// The interval of an estimate at another confidence. Nothing unless the state is kEstimated.
std::optional<Interval> crossed_interval(const CrossedComparison& comparison, double confidence);

/// Where every pair is a run of its own, as in the tables of a training: Student's t over the runs. A run's
/// delta is the mean of its pairs. Nothing without a complete pair.
std::optional<CrossedComparison> over_runs(std::span<const PairedValue> pairs, double confidence = 0.95);

/// The parts of the variance of the runs' mean, from the mean squares of clusters (G - 1 degrees of freedom)
/// and of the residual ((S - 1)(G - 1)). At least two runs and two clusters.
VarianceParts variance_parts(std::span<const RunDifference> per_run, std::int64_t clusters,
                             double prompt_mean_square, double residual_mean_square);

/// Sums of squares of `clusters` numbers a run: the columns of the analysis.
struct CrossedSquares {
  double runs = 0, prompts = 0, residual = 0;
};

/// values: [runs][clusters]
CrossedSquares crossed_squares(std::span<const std::vector<double>> values);

}  // namespace harness
