#include "results/statistics.h"

#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <thread>
#include <unordered_map>

#include "results/bootstrap_indices.h"

namespace harness {
namespace {

double total(std::span<const double> values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum;
}

double mean_delta(const ClusterSums& sums) {
  return (total(sums.method) - total(sums.baseline)) / total(sums.count);
}

void count_outcomes(std::span<const PairedValue> complete, Better better, PairedComparison& result) {
  const double sign = better == Better::kDown ? -1 : 1;
  for (const auto& pair : complete) {
    const double gain = sign * (*pair.method - *pair.baseline);
    ++(gain > 0 ? result.wins : gain < 0 ? result.losses : result.ties);
  }
}

std::vector<PairedValue> complete_pairs(std::span<const PairedValue> pairs) {
  std::vector<PairedValue> complete;
  complete.reserve(pairs.size());
  for (const auto& pair : pairs) {
    if (pair.baseline && pair.method) complete.push_back(pair);
  }
  return complete;
}

}  // namespace

Summary summarize(std::span<const std::optional<double>> values) {
  Summary summary;
  double sum = 0;
  for (const auto& value : values) {
    if (value) {
      ++summary.n;
      sum += *value;
    }
  }
  summary.n_missing = static_cast<std::int64_t>(values.size()) - summary.n;
  if (summary.n == 0) return summary;
  const double mean = sum / static_cast<double>(summary.n);
  summary.mean = mean;
  if (summary.n < 2) return summary;
  double squares = 0;
  for (const auto& value : values) {
    if (value) squares += (*value - mean) * (*value - mean);
  }
  summary.std = std::sqrt(squares / static_cast<double>(summary.n - 1));
  return summary;
}

ClusterSums cluster_sums(std::span<const PairedValue> pairs) {
  ClusterSums sums;
  std::unordered_map<std::int64_t, std::size_t> places;
  for (const auto& pair : pairs) {
    const auto [place, is_new] = places.try_emplace(pair.cluster, sums.size());
    if (is_new) {
      sums.baseline.push_back(0);
      sums.method.push_back(0);
      sums.count.push_back(0);
    }
    sums.baseline[place->second] += pair.baseline.value();
    sums.method[place->second] += pair.method.value();
    sums.count[place->second] += 1;
  }
  return sums;
}

double resampled_delta(const ClusterSums& sums, std::span<const std::uint32_t> indices) {
  double baseline = 0, method = 0, count = 0;
  for (const auto index : indices) {
    baseline += sums.baseline[index];
    method += sums.method[index];
    count += sums.count[index];
  }
  return (method - baseline) / count;
}

std::vector<double> bootstrap_deltas(const ClusterSums& sums, const BootstrapSettings& settings) {
  std::vector<double> deltas(settings.resamples);
  const auto size = static_cast<std::uint32_t>(sums.size());
  const auto work = [&](std::uint32_t first, std::uint32_t last) {
    std::vector<std::uint32_t> indices(size);
    for (std::uint32_t resample = first; resample < last; ++resample) {
      resample_indices(settings.seed, resample, size, indices);
      deltas[resample] = resampled_delta(sums, indices);
    }
  };
  const unsigned wanted = settings.threads ? settings.threads : std::thread::hardware_concurrency();
  const auto threads = std::clamp(wanted, 1u, std::max(settings.resamples / 64, 1u));
  const auto start_of = [&](std::uint64_t thread) {
    return static_cast<std::uint32_t>(settings.resamples * thread / threads);
  };
  std::vector<std::jthread> others;
  for (unsigned thread = 1; thread < threads; ++thread) {
    others.emplace_back(work, start_of(thread), start_of(thread + 1));
  }
  work(0, start_of(1));
  others.clear();  // joins
  return deltas;
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

std::optional<TTest> paired_t(const ClusterSums& sums) {
  const auto clusters = static_cast<double>(sums.size());
  if (sums.size() < 2) return std::nullopt;
  const double n = total(sums.count), delta = mean_delta(sums);
  double squares = 0, differences = 0;
  for (std::size_t i = 0; i < sums.size(); ++i) {
    const double difference = sums.method[i] - sums.baseline[i];
    const double residual = difference - sums.count[i] * delta;
    squares += residual * residual;
    differences += difference * difference;
  }
  if (squares <= 1e-24 * differences) return std::nullopt;  // equal differences, up to rounding
  const double t = delta / (std::sqrt(clusters / (clusters - 1) * squares) / n);
  const boost::math::students_t distribution(clusters - 1);
  return TTest{t, 2 * cdf(complement(distribution, std::abs(t)))};
}

PairedComparison compare_paired(std::span<const PairedValue> pairs, Better better,
                                const BootstrapSettings& settings) {
  const auto complete = complete_pairs(pairs);
  PairedComparison result;
  result.n = static_cast<std::int64_t>(complete.size());
  result.n_missing = static_cast<std::int64_t>(pairs.size()) - result.n;
  if (complete.empty()) return result;

  const auto sums = cluster_sums(complete);
  result.clusters = static_cast<std::int64_t>(sums.size());
  result.baseline_mean = total(sums.baseline) / static_cast<double>(result.n);
  result.method_mean = total(sums.method) / static_cast<double>(result.n);
  result.delta = mean_delta(sums);
  // The resamples of a single cluster are all itself: they say nothing.
  if (sums.size() > 1) result.ci = percentile_interval(bootstrap_deltas(sums, settings), settings.confidence);
  count_outcomes(complete, better, result);
  if (result.clusters < result.n) result.test = "paired-t-clustered";
  if (const auto test = paired_t(sums)) {
    result.t = test->t;
    result.p_value = test->p_value;
  }
  return result;
}

}  // namespace harness
