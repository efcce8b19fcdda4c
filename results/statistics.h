#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace harness {

/// Which direction of a metric is good; kNone: neither.
enum class Better { kUp, kDown, kNone };

/// Mean and spread of one metric over the prompts of an evaluation.
struct Summary {
  std::int64_t n = 0;          ///< values behind the mean
  std::int64_t n_missing = 0;  ///< NULLs: a scorer failed there
  std::optional<double> mean;  ///< nothing if n is 0
  std::optional<double> std;   ///< divisor n - 1; nothing if n is below 2
};
Summary summarize(std::span<const std::optional<double>> values);

/// One prompt and sample (and seed) measured in both arms. `cluster` says what is drawn together: equal
/// numbers are one unit of the bootstrap (the seeds of a prompt, or prompts of equal text). Where nothing
/// repeats, every pair has its own.
struct PairedValue {
  std::optional<double> baseline, method;
  std::int64_t cluster = 0;
};

struct Interval {
  double low = 0, high = 0;
  bool excludes_zero() const { return low > 0 || high < 0; }
};

struct BootstrapSettings {
  std::uint32_t resamples = 10000;
  double confidence = 0.95;
  std::uint32_t seed = 0;
  unsigned threads = 0;  ///< 0: as many as the machine has cores; never changes a result
};

/// method against baseline over all complete pairs. A pair that lacks a side is counted in n_missing and
/// enters nothing else.
struct PairedComparison {
  std::int64_t n = 0, n_missing = 0, clusters = 0;
  std::optional<double> baseline_mean, method_mean, delta;  ///< delta = method - baseline; nothing if n is 0
  std::optional<Interval> ci;                   ///< percentile bootstrap of delta; nothing below 2 clusters
  std::int64_t wins = 0, ties = 0, losses = 0;  ///< pairs in which the method is better, equal, worse
  std::optional<double> t, p_value;             ///< two-sided; nothing below 2 clusters or without spread
  std::string test = "paired-t";                ///< "paired-t-clustered" where a cluster holds several pairs
};

/// The whole comparison: paired percentile bootstrap, wins, ties and losses, paired t. `better` decides what
/// a win is (kNone counts as kUp).
PairedComparison compare_paired(std::span<const PairedValue> pairs, Better better,
                                const BootstrapSettings& settings = {});

/// Sums of the two arms over the pairs of each cluster, in order of the clusters' first appearance. All pairs
/// must be complete.
struct ClusterSums {
  std::vector<double> baseline, method, count;  ///< [clusters]
  std::size_t size() const { return count.size(); }
};
ClusterSums cluster_sums(std::span<const PairedValue> pairs);

/// Mean difference of every resample, [resamples]: one vector of cluster indices is drawn and used for both
/// arms.
std::vector<double> bootstrap_deltas(const ClusterSums& sums, const BootstrapSettings& settings);

/// The same for one given vector of cluster indices.
double resampled_delta(const ClusterSums& sums, std::span<const std::uint32_t> indices);

/// Percentile `q` in [0, 1], linear between order statistics (numpy's default: position (n - 1) q). Values
/// must not be empty.
double percentile(std::span<const double> sorted, double q);

/// The central interval that holds `confidence` of the values (sorted in here).
Interval percentile_interval(std::vector<double> values, double confidence);

struct TTest {
  double t, p_value;
};
/// Two-sided t of the mean difference with clusters - 1 degrees of freedom. Standard error from the clusters'
/// residuals, sqrt(G / (G - 1) sum (D_c - n_c delta)^2) / n; with one pair a cluster that is the plain paired
/// t exactly. Nothing where it is not defined: fewer than 2 clusters, or no spread at all.
std::optional<TTest> paired_t(const ClusterSums& sums);

}  // namespace harness
