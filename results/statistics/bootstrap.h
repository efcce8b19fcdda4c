#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace harness {

struct Interval {
  double low = 0, high = 0;
  bool excludes_zero() const { return low > 0 || high < 0; }
};

/// What is made of the resamples; G clusters, delta* the difference of a resample:
///   kPercentile   the central part of delta*
///   kBca          percentiles shifted by z0 (share of delta* below delta, ties half) and the acceleration of
///                 the jackknife over clusters (Efron 1987, JASA 82, Eqs. 2.3 and 6.6)
///   kStudentised  delta - t* se at the percentiles of t* = (delta* - delta) / se*, se as in paired_t
enum class IntervalKind { kPercentile, kBca, kStudentised };
inline constexpr std::string_view kIntervalNames[] = {"percentile", "bca", "studentised"};
std::string_view interval_name(IntervalKind kind);

/// Throws Error (status 2) for a name that is none of kIntervalNames, with the nearest.
IntervalKind interval_from_name(const std::string& name, const std::string& where);

struct BootstrapSettings {
  std::uint32_t resamples = 10000;
  double confidence = 0.95;
  std::uint32_t seed = 0;
  unsigned threads = 0;  ///< 0: as many as the machine has cores; never changes a result
  IntervalKind interval = IntervalKind::kPercentile;
};

/// Sums of the two arms over the pairs of each cluster; a cluster without a pair has count 0.
struct ClusterSums {
  std::vector<double> baseline, method, count;  ///< [clusters]
  std::size_t size() const { return count.size(); }
  std::vector<double> differences() const;  ///< [clusters], method - baseline
  double mean_delta() const;                ///< the same over all pairs
};

/// One metric's pairs, seeds pooled, and, where there are several, those of each seed over the same clusters.
struct BootstrapInput {
  ClusterSums pooled;
  std::vector<ClusterSums> seeds = {};
};

struct BootstrapIntervals {
  std::optional<Interval> clusters;  ///< clusters drawn, the seeds as they are; of the kind asked for
  /// Seeds and clusters drawn, each with replacement and independently of each other (Owen 2007, Ann. Appl.
  /// Stat. 1, Section 3); percentile. Nothing below 2 seeds.
  std::optional<Interval> seeds_and_clusters;
};

/// Intervals of the mean difference of every metric. Metrics with the same number of clusters share their
/// resamples: draw i means the same cluster in all of them. Nothing below 2 clusters, or where too many
/// resamples have no spread for a studentised interval to end.
std::vector<BootstrapIntervals> bootstrap_intervals(std::span<const BootstrapInput> metrics,
                                                    const BootstrapSettings& settings);

/// Percentile `q` in [0, 1], linear between order statistics (numpy's default: position (n - 1) q). Values
/// must not be empty.
double percentile(std::span<const double> sorted, double q);

/// The central interval that holds `confidence` of the values (sorted in here).
Interval percentile_interval(std::vector<double> values, double confidence);

/// BCa from the differences of the resamples. Nothing if all of them lie on one side of the difference.
std::optional<Interval> bca_interval(std::vector<double> deltas, const ClusterSums& sums, double confidence);

/// Standard error of the mean difference from the clusters' residuals,
/// sqrt(G / (G - 1) sum (D_c - n_c delta)^2) / n. Exactly 0 where the clusters differ by rounding alone;
/// nothing below 2 clusters.
std::optional<double> standard_error(const ClusterSums& sums);

}  // namespace harness
