#include "results/statistics/bootstrap.h"

#include <algorithm>
#include <array>
#include <boost/math/distributions/normal.hpp>
#include <cmath>
#include <limits>
#include <map>
#include <thread>

#include "core/error.h"
#include "core/text.h"
#include "results/statistics/bootstrap_indices.h"
#include "results/statistics/numeric.h"

namespace harness {
namespace {

// Sums over resamples

constexpr std::uint32_t kResamplesPerThread = 64;  // fewer are not worth a thread

/// Calls work(first, last) for parts of [0, count) on several threads.
template <class Work>
void in_parallel(std::uint32_t count, unsigned threads, Work work) {
  const unsigned wanted = threads ? threads : std::thread::hardware_concurrency();
  const auto parts = std::clamp(wanted, 1u, std::max(count / kResamplesPerThread, 1u));
  const auto start_of = [&](std::uint64_t part) { return static_cast<std::uint32_t>(count * part / parts); };
  std::vector<std::jthread> others;
  for (unsigned part = 1; part < parts; ++part) {
    others.emplace_back(work, start_of(part), start_of(part + 1));
  }
  work(0, start_of(1));
}

/// Numbers of units (rows) that a bootstrap sums over each resample. Columns are kept four by four, so that
/// one pass over the drawn rows adds four of them.
class UnitColumns {
 public:
  explicit UnitColumns(std::size_t units) : units_(units) {}

  /// Adds a column of `units` values and returns its number.
  std::size_t add(std::span<const double> values) {
    const auto lane = columns_ % kLanes;
    if (lane == 0) values_.resize(values_.size() + units_ * kLanes, 0.0);
    double* block = values_.data() + columns_ / kLanes * units_ * kLanes;
    for (std::size_t unit = 0; unit < units_; ++unit) block[unit * kLanes + lane] = values[unit];
    return columns_++;
  }

  std::size_t units() const { return units_; }
  std::size_t columns() const { return columns_; }

  /// Sums of all columns over the drawn rows, each in the order of the draws. sums: [columns].
  void add_up(std::span<const std::uint32_t> indices, std::span<double> sums) const {
    for (std::size_t first = 0; first < columns_; first += kLanes) {
      const double* block = values_.data() + first * units_;
      std::array<double, kLanes> sum{};
      for (const auto index : indices) {
        for (std::size_t lane = 0; lane < kLanes; ++lane) sum[lane] += block[index * kLanes + lane];
      }
      std::copy_n(sum.begin(), std::min(kLanes, columns_ - first), sums.begin() + static_cast<long>(first));
    }
  }

 private:
  static constexpr std::size_t kLanes = 4;
  std::size_t units_, columns_ = 0;
  std::vector<double> values_;  ///< [columns / kLanes, units, kLanes]
};

/// Column sums of every resample; read as sums(resample, column).
class ResampledSums {
 public:
  /// Draws `units` rows `resamples` times, on `threads` threads (0: as many as the machine has cores).
  ResampledSums(const UnitColumns& units, std::uint32_t resamples, std::uint32_t seed, unsigned threads)
      : columns_(units.columns()), sums_(resamples * units.columns()) {
    const auto size = static_cast<std::uint32_t>(units.units());
    in_parallel(resamples, threads, [&](std::uint32_t first, std::uint32_t last) {
      std::vector<std::uint32_t> indices(size);
      for (std::uint32_t resample = first; resample < last; ++resample) {
        resample_indices(seed, resample, size, indices);
        units.add_up(indices, std::span(sums_).subspan(resample * columns_, columns_));
      }
    });
  }
  double operator()(std::uint32_t resample, std::size_t column) const {
    return sums_[resample * columns_ + column];
  }

 private:
  std::size_t columns_;
  std::vector<double> sums_;
};

// What is made of them

std::vector<double> residuals(const ClusterSums& sums) {
  auto result = sums.differences();
  const double delta = sums.mean_delta();
  for (std::size_t i = 0; i < result.size(); ++i) result[i] -= sums.count[i] * delta;
  return result;
}

std::vector<double> products(std::span<const double> a, std::span<const double> b) {
  std::vector<double> result(a.size());
  for (std::size_t i = 0; i < result.size(); ++i) result[i] = a[i] * b[i];
  return result;
}

/// The number of pairs in a resample: a column, or a constant where all clusters are of one size.
class PairCount {
 public:
  PairCount(UnitColumns& columns, std::span<const double> count) {
    const bool equal = std::ranges::adjacent_find(count, std::not_equal_to()) == count.end();
    if (equal) {
      constant_ = total(count);
    } else {
      column_ = columns.add(count);
    }
  }
  double operator()(const ResampledSums& sums, std::uint32_t resample) const {
    return column_ ? sums(resample, *column_) : constant_;
  }

 private:
  double constant_ = 0;
  std::optional<std::size_t> column_;
};

/// delta* of the resamples of one set of sums.
struct Deltas {
  Deltas(UnitColumns& columns, const ClusterSums& sums)
      : difference(columns.add(sums.differences())), count(columns, sums.count) {}
  std::size_t difference;  ///< column
  PairCount count;
};

std::vector<double> deltas_of(const Deltas& deltas, const ResampledSums& sums, std::uint32_t resamples) {
  std::vector<double> values(resamples);
  for (std::uint32_t resample = 0; resample < resamples; ++resample) {
    values[resample] = sums(resample, deltas.difference) / deltas.count(sums, resample);
  }
  return values;
}

/// t* of the resamples. With residuals r_c = D_c - n_c delta a resample has delta* - delta = sum r / sum n,
/// and its own residuals are r_c - n_c (delta* - delta).
class Studentised {
 public:
  Studentised(UnitColumns& columns, const ClusterSums& sums)
      : clusters_(static_cast<double>(sums.size())), count_(columns, sums.count) {
    const auto r = residuals(sums);
    const auto n = std::span(sums.count);
    residual_ = columns.add(r);
    square_ = columns.add(products(r, r));
    cross_ = columns.add(products(r, n));
    count_square_ = columns.add(products(n, n));
  }

  /// Infinite, with the sign of the difference, where the clusters of a resample are all alike.
  double operator()(const ResampledSums& sums, std::uint32_t resample) const {
    const double n = count_(sums, resample), shift = sums(resample, residual_) / n;
    const double squares = sums(resample, square_) - 2 * shift * sums(resample, cross_) +
                           shift * shift * sums(resample, count_square_);
    if (squares > kRounding * sums(resample, square_)) {
      return shift * n / std::sqrt(clusters_ / (clusters_ - 1) * squares);
    }
    return shift == 0 ? 0 : std::copysign(std::numeric_limits<double>::infinity(), shift);
  }

 private:
  double clusters_;
  std::size_t residual_ = 0, square_ = 0, cross_ = 0, count_square_ = 0;
  PairCount count_;
};

std::optional<Interval> studentised_interval(const Studentised& t, const ClusterSums& sums,
                                             const ResampledSums& resampled,
                                             const BootstrapSettings& settings) {
  std::vector<double> values(settings.resamples);
  for (std::uint32_t resample = 0; resample < settings.resamples; ++resample) {
    values[resample] = t(resampled, resample);
  }
  const double delta = sums.mean_delta(), error = standard_error(sums).value();
  if (error == 0) return Interval{delta, delta};
  const auto ends = percentile_interval(std::move(values), settings.confidence);
  if (!std::isfinite(ends.low) || !std::isfinite(ends.high)) return std::nullopt;
  return Interval{delta - ends.high * error, delta - ends.low * error};
}

/// Percentile interval with seeds drawn beside the clusters. Nothing if a resample holds no pair at all.
std::optional<Interval> two_level_interval(std::span<const Deltas> seeds, const ResampledSums& sums,
                                           const BootstrapSettings& settings) {
  std::vector<std::uint32_t> drawn(seeds.size());
  std::vector<double> deltas(settings.resamples);
  for (std::uint32_t resample = 0; resample < settings.resamples; ++resample) {
    resample_indices(settings.seed, resample, static_cast<std::uint32_t>(seeds.size()), drawn, Drawn::kSeeds);
    double difference = 0, count = 0;
    for (const auto seed : drawn) {
      difference += sums(resample, seeds[seed].difference);
      count += seeds[seed].count(sums, resample);
    }
    if (count == 0) return std::nullopt;
    deltas[resample] = difference / count;
  }
  return percentile_interval(std::move(deltas), settings.confidence);
}

/// The columns that one metric needs.
struct MetricColumns {
  MetricColumns(UnitColumns& columns, const BootstrapInput& input, IntervalKind kind) {
    if (kind == IntervalKind::kStudentised) {
      studentised.emplace(columns, input.pooled);
    } else {
      deltas.emplace(columns, input.pooled);
    }
    if (input.seeds.size() < 2) return;
    for (const auto& seed : input.seeds) seeds.emplace_back(columns, seed);
  }

  BootstrapIntervals intervals(const BootstrapInput& input, const ResampledSums& sums,
                               const BootstrapSettings& settings) const {
    BootstrapIntervals result;
    if (studentised) {
      result.clusters = studentised_interval(*studentised, input.pooled, sums, settings);
    } else {
      auto values = deltas_of(*deltas, sums, settings.resamples);
      result.clusters = settings.interval == IntervalKind::kBca
                            ? bca_interval(std::move(values), input.pooled, settings.confidence)
                            : percentile_interval(std::move(values), settings.confidence);
    }
    if (!seeds.empty()) result.seeds_and_clusters = two_level_interval(seeds, sums, settings);
    return result;
  }

  std::optional<Deltas> deltas;
  std::optional<Studentised> studentised;
  std::vector<Deltas> seeds;
};

/// Skewness of the leave-one-cluster-out differences over 6: BCa's acceleration.
double acceleration(const ClusterSums& sums) {
  const auto d = sums.differences();
  const double difference = total(d), n = total(sums.count);
  std::vector<double> left_out(sums.size());
  for (std::size_t i = 0; i < d.size(); ++i) left_out[i] = (difference - d[i]) / (n - sums.count[i]);
  const double centre = mean(left_out);
  const double squares = squares_about(centre, left_out);
  double cubes = 0;
  for (const double value : left_out) cubes += (centre - value) * (centre - value) * (centre - value);
  return squares > 0 ? cubes / (6 * std::pow(squares, 1.5)) : 0;
}

/// Share of values below `delta`, those that differ from it by rounding counting half.
double share_below(std::span<const double> values, double delta) {
  double widest = 0;
  for (const double value : values) widest = std::max(widest, std::abs(value - delta));
  double below = 0;
  for (const double value : values) {
    const double distance = value - delta;
    below += std::abs(distance) <= kRounding * widest ? 0.5 : distance < 0 ? 1 : 0;
  }
  return below / static_cast<double>(values.size());
}

}  // namespace

std::string_view interval_name(IntervalKind kind) {
  return kIntervalNames[static_cast<std::size_t>(kind)];
}

IntervalKind interval_from_name(const std::string& name, const std::string& where) {
  const std::vector<std::string> names(std::begin(kIntervalNames), std::end(kIntervalNames));
  const auto found = std::ranges::find(names, name);
  if (found == names.end())
    throw Error("unknown interval " + in_quotes(name), where, suggestion(name, names));
  return static_cast<IntervalKind>(found - names.begin());
}

std::vector<double> ClusterSums::differences() const {
  std::vector<double> result(size());
  for (std::size_t i = 0; i < result.size(); ++i) result[i] = method[i] - baseline[i];
  return result;
}

double ClusterSums::mean_delta() const {
  return (total(method) - total(baseline)) / total(count);
}

std::vector<BootstrapIntervals> bootstrap_intervals(std::span<const BootstrapInput> metrics,
                                                    const BootstrapSettings& settings) {
  std::vector<BootstrapIntervals> intervals(metrics.size());
  std::map<std::size_t, std::vector<std::size_t>> by_size;
  for (std::size_t i = 0; i < metrics.size(); ++i) by_size[metrics[i].pooled.size()].push_back(i);
  for (const auto& [size, members] : by_size) {
    if (size < 2) continue;  // the resamples of a single cluster are all itself: they say nothing
    UnitColumns units(size);
    std::vector<MetricColumns> columns;
    for (const auto i : members) columns.emplace_back(units, metrics[i], settings.interval);
    const ResampledSums sums(units, settings.resamples, settings.seed, settings.threads);
    for (std::size_t k = 0; k < members.size(); ++k) {
      intervals[members[k]] = columns[k].intervals(metrics[members[k]], sums, settings);
    }
  }
  return intervals;
}

double percentile(std::span<const double> sorted, double q) {
  const double position = q * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(std::floor(position));
  const auto above = std::min(below + 1, sorted.size() - 1);
  const double part = position - static_cast<double>(below), gap = sorted[above] - sorted[below];
  // numpy's two forms of one line: each is exact at its own end.
  return part < 0.5 ? sorted[below] + gap * part : sorted[above] - gap * (1 - part);
}

Interval percentile_interval(std::vector<double> values, double confidence) {
  std::sort(values.begin(), values.end());
  const double tail = (1 - confidence) / 2;
  return {percentile(values, tail), percentile(values, 1 - tail)};
}

std::optional<Interval> bca_interval(std::vector<double> deltas, const ClusterSums& sums, double confidence) {
  const boost::math::normal normal;
  const double share = share_below(deltas, sums.mean_delta());
  if (share <= 0 || share >= 1) return std::nullopt;
  const double z0 = quantile(normal, share), a = acceleration(sums);
  const auto level = [&](double q) {
    const double z = z0 + quantile(normal, q);
    return cdf(normal, z0 + z / (1 - a * z));
  };
  const double tail = (1 - confidence) / 2;
  std::sort(deltas.begin(), deltas.end());
  return Interval{percentile(deltas, level(tail)), percentile(deltas, level(1 - tail))};
}

std::optional<double> standard_error(const ClusterSums& sums) {
  if (sums.size() < 2) return std::nullopt;
  const auto clusters = static_cast<double>(sums.size());
  // Equal differences, up to the rounding of what they are differences of.
  const double squares = squares_about(0, residuals(sums)),
               size = squares_about(0, sums.baseline) + squares_about(0, sums.method);
  if (squares <= kRounding * kRounding * size) return 0;
  return std::sqrt(clusters / (clusters - 1) * squares) / total(sums.count);
}

}  // namespace harness
