#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "results/statistics/bootstrap.h"
#include "results/statistics/crossed.h"
#include "results/statistics/paired.h"
#include "results/statistics/rank_tests.h"

namespace harness {

/// Mean and spread of one metric over the prompts of an evaluation. Numbers beyond kLargestScore, which an
/// earlier version stored, count as missing here and in comparisons.
struct Summary {
  std::int64_t n = 0;          ///< values behind the mean
  std::int64_t n_missing = 0;  ///< NULLs: a scorer failed there; and numbers beyond kLargestScore
  std::optional<double> mean;  ///< nothing if n is 0
  std::optional<double> std;   ///< divisor n - 1; nothing if n is below 2
  std::int64_t n_beyond = 0;   ///< those of n_missing that are such numbers
};
Summary summarize(std::span<const std::optional<double>> values);

struct TTest {
  double t, p_value;
};

struct WinRate {
  double rate;  ///< (wins + ties / 2) / pairs
  Interval ci;  ///< Wilson
};

/// McNemar's exact test on pairs of 0 and 1.
struct McNemar {
  std::int64_t only_method = 0, only_baseline = 0;  ///< pairs in which one arm alone has a 1
  double p_value = 1;
};

/// Tests of "no difference" beside the one that a comparison states. Where a cluster holds several pairs, the
/// rank tests take the mean difference of each cluster, so that their units are independent.
struct PairedTests {
  std::optional<TTest> t;               ///< nothing below 2 clusters or without spread
  std::optional<RankTest> wilcoxon;     ///< wilcoxon_signed_rank; nothing without a nonzero difference
  std::optional<double> sign_p;         ///< nothing without a pair
  std::optional<McNemar> mcnemar = {};  ///< rates only, every pair its own cluster
};

/// The numbers of a comparison that are kept. Each is a column of `comparisons`, a field in the journal and a
/// key of every JSON of comparisons under its name here: results/store/columns.h lists them.
struct ComparisonNumbers {
  std::int64_t n = 0, n_missing = 0, clusters = 0;
  std::optional<double> baseline_mean = {}, method_mean = {};
  std::optional<double> delta = {};             ///< method - baseline; nothing if n is 0
  std::int64_t wins = 0, ties = 0, losses = 0;  ///< pairs in which the method is better, equal, worse
  /// Share of the clusters (prompts) in which the method's mean is better; nothing if n is 0.
  std::optional<double> prompts_won = {};
  std::optional<double> t = {};        ///< nothing below 2 clusters or without spread
  std::optional<double> p_value = {};  ///< of `test`
  /// "mcnemar-exact" for a rate; else "paired-t", or "paired-t-clustered" where a cluster holds several
  /// pairs.
  std::string test = "paired-t";
};

/// What missing values could make of a difference, each being the lowest or the highest value that was seen
/// of its metric, on whichever side.
struct MissingValues {
  double lowest_delta = 0, highest_delta = 0;
  /// Where all of them speak against the difference: its p over prompts, and its analysis over runs and
  /// prompts; nothing where the test gives none.
  std::optional<double> p_value = {};
  std::optional<CrossedComparison> crossed = {};
};

/// method against baseline over all complete pairs. A pair that lacks a side, or has a number beyond
/// kLargestScore, is counted in n_missing and enters nothing else.
struct PairedComparison : ComparisonNumbers {
  std::optional<Interval> ci = {};            ///< bootstrap of delta; nothing below 2 clusters
  std::int64_t seeds = 0;                     ///< different ones among the complete pairs
  std::optional<Interval> ci_seeds = {};      ///< seeds drawn as well as clusters; nothing below 2 seeds
  std::optional<double> standard_error = {};  ///< of delta, from the clusters
  PairedTests tests = {};
  std::optional<WinRate> win_rate = {};
  std::optional<std::int64_t> carried_by = {};  ///< clusters that carry more than half of delta
  /// Training runs drawn too, crossed with prompts; from 2 seeds on. Where a cluster is a seed, of runs
  /// alone.
  std::optional<CrossedComparison> crossed = {};
  /// Where values are missing.
  std::optional<MissingValues> missing = {};
  /// False: made at a scale that shows nothing about the methods, however many runs there are. Not stored.
  bool judges_methods = true;
};

/// The pairs of one metric; `better` decides what a win is (kNone counts as kUp).
struct PairedMetric {
  std::vector<PairedValue> pairs;
  Better better = Better::kUp;
  bool runs_are_paired =
      true;  ///< false: which run of one side stands beside which of the other means nothing
};

/// The whole comparison of every metric, each as it would be alone; resamples are shared between metrics (see
/// bootstrap_intervals), and with 0 of them there are no bootstrap intervals.
std::vector<PairedComparison> compare_paired(std::span<const PairedMetric> metrics,
                                             const BootstrapSettings& settings = {});
/// Adds the bootstrap's intervals to numbers that were computed without.
void add_intervals(std::span<const PairedMetric> metrics, const BootstrapSettings& settings,
                   std::span<PairedComparison> results);
PairedComparison compare_paired(std::span<const PairedValue> pairs, Better better,
                                const BootstrapSettings& settings = {});

/// Sums over the pairs of each cluster, in order of the clusters' first appearance. All pairs must be
/// complete.
ClusterSums cluster_sums(std::span<const PairedValue> pairs);

/// Clusters in which the method's mean is better than the baseline's, equal and worse.
struct ClusterOutcomes {
  std::int64_t wins = 0, ties = 0, losses = 0;
};
ClusterOutcomes outcomes_by_cluster(const ClusterSums& sums, Better better);

/// Two-sided t of the mean difference with its standard_error and clusters - 1 degrees of freedom; with one
/// pair a cluster the plain paired t exactly. Nothing below 2 clusters or without spread.
std::optional<TTest> paired_t(const ClusterSums& sums);

/// Wilson's score interval (1927, JASA 22) of a rate seen in n trials; the rate need not be a multiple of
/// 1 / n.
Interval wilson_interval(double rate, double n, double confidence);

/// The interval takes the number of clusters as its number of trials: with several pairs a cluster (seeds of
/// a prompt) it is on the wide side. Nothing without a pair.
std::optional<WinRate> win_rate(std::int64_t wins, std::int64_t ties, std::int64_t losses,
                                std::int64_t clusters, double confidence);

/// How few clusters carry more than half of a mean difference: those that differ most on its side, until less
/// than half of the sum is left. sums: of each cluster's differences. Nothing where their sum is 0 (rounded).
std::optional<std::int64_t> influential_clusters(std::span<const double> sums);

/// The number of prompts that carry more than half of a difference, where they are so few (5 or fewer of 20
/// or more) that a reader should look at them before quoting it.
std::optional<std::int64_t> few_that_carry(const PairedComparison& comparison);

/// Which rank tests come to another conclusion at `level` than the paired t does. None where there is no t.
struct TestDisagreement {
  bool wilcoxon = false, sign = false;
  bool any() const { return wilcoxon || sign; }
};
TestDisagreement disagreement(const PairedTests& tests, double level = 0.05);

}  // namespace harness
