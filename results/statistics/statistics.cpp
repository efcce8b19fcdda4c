#include "results/statistics/statistics.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <unordered_map>

#include "core/score_limit.h"
#include "results/statistics/numeric.h"

namespace harness {
namespace {

void count_outcomes(std::span<const PairedValue> complete, Better better, PairedComparison& result) {
  const double sign = better == Better::kDown ? -1 : 1;
  for (const auto& pair : complete) {
    const double gain = sign * (*pair.method - *pair.baseline);
    ++(gain > 0 ? result.wins : gain < 0 ? result.losses : result.ties);
  }
}

bool is_usable(const std::optional<double>& value) {
  return value && is_usable_score(*value);
}

ClusterSums empty_sums(std::size_t clusters) {
  const std::vector<double> zeros(clusters, 0.0);
  return {zeros, zeros, zeros};
}

void add_pair(const PairedValue& pair, std::size_t place, ClusterSums& sums) {
  sums.baseline[place] += pair.baseline.value();
  sums.method[place] += pair.method.value();
  sums.count[place] += 1;
}

BootstrapInput bootstrap_input(std::span<const PairedValue> complete) {
  std::unordered_map<std::int64_t, std::size_t> places;  // of clusters, in order of first appearance
  places.reserve(complete.size());
  for (const auto& pair : complete) places.try_emplace(pair.cluster, places.size());
  BootstrapInput input{.pooled = empty_sums(places.size())};
  std::map<std::int64_t, ClusterSums> seeds;
  for (const auto& pair : complete) {
    const auto place = places.at(pair.cluster);
    add_pair(pair, place, input.pooled);
    add_pair(pair, place, seeds.try_emplace(pair.seed, empty_sums(places.size())).first->second);
  }
  for (auto& [seed, sums] : seeds) input.seeds.push_back(std::move(sums));
  return input;
}

/// A rate: every value is 0 or 1, and both occur.
bool is_rate(std::span<const PairedValue> complete) {
  bool zero = false, one = false;
  for (const auto& pair : complete) {
    for (const double value : {*pair.baseline, *pair.method}) {
      if (value != 0 && value != 1) return false;
      (value == 0 ? zero : one) = true;
    }
  }
  return zero && one;
}

PairedTests paired_tests(std::span<const PairedValue> complete, const ClusterSums& sums) {
  auto d = sums.differences();
  for (std::size_t i = 0; i < d.size(); ++i) d[i] /= sums.count[i];
  const auto plus = std::ranges::count_if(d, [](double x) { return x > 0; });
  const auto minus = std::ranges::count_if(d, [](double x) { return x < 0; });
  PairedTests tests{
      .t = paired_t(sums), .wilcoxon = wilcoxon_signed_rank(d), .sign_p = sign_test(plus, minus)};
  if (sums.size() == complete.size() && is_rate(complete))
    tests.mcnemar = {.only_method = plus, .only_baseline = minus, .p_value = *tests.sign_p};
  return tests;
}

/// Which of the tests the comparison states as its own.
void choose_test(PairedComparison& result) {
  if (result.clusters < result.n) result.test = "paired-t-clustered";
  if (result.tests.t) {
    result.t = result.tests.t->t;
    result.p_value = result.tests.t->p_value;
  }
  if (result.tests.mcnemar) {
    result.test = "mcnemar-exact";
    result.p_value = result.tests.mcnemar->p_value;
  }
}

/// Everything but the intervals.
PairedComparison compare_without_intervals(std::span<const PairedValue> complete, const BootstrapInput& input,
                                           Better better, double confidence) {
  PairedComparison result;
  result.n = static_cast<std::int64_t>(complete.size());
  if (complete.empty()) return result;
  const auto& sums = input.pooled;
  result.clusters = static_cast<std::int64_t>(sums.size());
  result.seeds = static_cast<std::int64_t>(input.seeds.size());
  result.baseline_mean = total(sums.baseline) / static_cast<double>(result.n);
  result.method_mean = total(sums.method) / static_cast<double>(result.n);
  result.delta = sums.mean_delta();
  result.standard_error = standard_error(sums);
  result.tests = paired_tests(complete, sums);
  choose_test(result);
  count_outcomes(complete, better, result);
  result.prompts_won =
      static_cast<double>(outcomes_by_cluster(sums, better).wins) / static_cast<double>(result.clusters);
  result.win_rate = win_rate(result.wins, result.ties, result.losses, result.clusters, confidence);
  return result;
}

/// True if every cluster belongs to one seed: the seeds themselves are what is drawn.
bool clusters_are_runs(std::span<const PairedValue> pairs) {
  std::unordered_map<std::int64_t, std::int64_t> seeds;
  return std::ranges::all_of(pairs, [&](const PairedValue& pair) {
    return seeds.try_emplace(pair.cluster, pair.seed).first->second == pair.seed;
  });
}

std::optional<CrossedComparison> crossed_with_runs(const PairedMetric& metric, double confidence) {
  const std::span<const PairedValue> pairs = metric.pairs;
  const bool several =
      std::ranges::any_of(pairs, [&](const PairedValue& pair) { return pair.seed != pairs.front().seed; });
  if (!several) return std::nullopt;
  return clusters_are_runs(pairs) ? over_runs(pairs, confidence)
                                  : crossed(pairs, confidence, metric.runs_are_paired);
}

void put_intervals(std::span<const BootstrapInput> inputs, const BootstrapSettings& settings,
                   std::span<PairedComparison> results) {
  const auto intervals = bootstrap_intervals(inputs, settings);
  for (std::size_t i = 0; i < results.size(); ++i) {
    results[i].ci = intervals[i].clusters;
    results[i].ci_seeds = intervals[i].seeds_and_clusters;
  }
}

/// The pairs with all that is missing at one of two values: the method's at the first.
std::vector<PairedValue> completed(std::span<const PairedValue> pairs, double of_method, double of_baseline) {
  std::vector<PairedValue> complete(pairs.begin(), pairs.end());
  for (auto& pair : complete) {
    if (!is_usable(pair.method)) pair.method = of_method;
    if (!is_usable(pair.baseline)) pair.baseline = of_baseline;
    pair.left_out = false;
  }
  return complete;
}

/// What the missing values of a metric could make of its difference, other than 0.
MissingValues missing_values(const PairedMetric& metric, double delta, double confidence) {
  double low = INFINITY, high = -INFINITY;
  for (const auto& pair : metric.pairs) {
    for (const auto& value : {pair.baseline, pair.method}) {
      if (!is_usable(value)) continue;
      low = std::min(low, *value);
      high = std::max(high, *value);
    }
  }
  const auto lowest = completed(metric.pairs, low, high), highest = completed(metric.pairs, high, low);
  const PairedMetric against{delta > 0 ? lowest : highest, metric.better, metric.runs_are_paired};
  const auto worst =
      compare_paired(std::span(&against, 1), {.resamples = 0, .confidence = confidence}).front();
  const auto mean_difference = [](const auto& complete) { return cluster_sums(complete).mean_delta(); };
  return {.lowest_delta = mean_difference(lowest),
          .highest_delta = mean_difference(highest),
          .p_value = worst.p_value,
          .crossed = worst.crossed};
}

}  // namespace

std::vector<PairedValue> complete_pairs(std::span<const PairedValue> pairs) {
  std::vector<PairedValue> complete;
  complete.reserve(pairs.size());
  for (const auto& pair : pairs) {
    if (!pair.left_out && is_usable(pair.baseline) && is_usable(pair.method)) complete.push_back(pair);
  }
  return complete;
}

Summary summarize(std::span<const std::optional<double>> values) {
  Summary summary;
  std::vector<double> usable;
  for (const auto& value : values) {
    if (is_usable(value)) {
      usable.push_back(*value);
    } else if (value) {
      ++summary.n_beyond;
    }
  }
  summary.n = std::ssize(usable);
  summary.n_missing = std::ssize(values) - summary.n;
  if (summary.n > 0) summary.mean = mean(usable);
  if (summary.n > 1)
    summary.std = std::sqrt(squares_about(*summary.mean, usable) / static_cast<double>(summary.n - 1));
  return summary;
}

ClusterSums cluster_sums(std::span<const PairedValue> pairs) {
  return bootstrap_input(pairs).pooled;
}

std::optional<TTest> paired_t(const ClusterSums& sums) {
  const auto error = standard_error(sums);
  if (!error || *error == 0) return std::nullopt;
  const double t = sums.mean_delta() / *error;
  return TTest{t, t_p_value(t, static_cast<double>(sums.size() - 1))};
}

std::vector<PairedComparison> compare_paired(std::span<const PairedMetric> metrics,
                                             const BootstrapSettings& settings) {
  std::vector<BootstrapInput> inputs;
  std::vector<PairedComparison> results;
  for (const auto& metric : metrics) {
    const auto complete = complete_pairs(metric.pairs);
    inputs.push_back(bootstrap_input(complete));
    results.push_back(compare_without_intervals(complete, inputs.back(), metric.better, settings.confidence));
    results.back().n_missing = static_cast<std::int64_t>(metric.pairs.size() - complete.size());
  }
  for (std::size_t i = 0; i < results.size(); ++i) {
    results[i].crossed = crossed_with_runs(metrics[i], settings.confidence);
    results[i].carried_by = influential_clusters(inputs[i].pooled.differences());
    if (results[i].n_missing > 0 && results[i].delta)
      results[i].missing = missing_values(metrics[i], *results[i].delta, settings.confidence);
  }
  if (settings.resamples > 0) put_intervals(inputs, settings, results);
  return results;
}

void add_intervals(std::span<const PairedMetric> metrics, const BootstrapSettings& settings,
                   std::span<PairedComparison> results) {
  std::vector<BootstrapInput> inputs;
  for (const auto& metric : metrics) inputs.push_back(bootstrap_input(complete_pairs(metric.pairs)));
  put_intervals(inputs, settings, results);
}

PairedComparison compare_paired(std::span<const PairedValue> pairs, Better better,
                                const BootstrapSettings& settings) {
  const PairedMetric metric{{pairs.begin(), pairs.end()}, better};
  return compare_paired(std::span(&metric, 1), settings).front();
}

Interval wilson_interval(double rate, double n, double confidence) {
  const double z = normal_critical(1 - confidence), z2 = z * z;
  const double centre = rate + z2 / (2 * n);
  const double half = z * std::sqrt(rate * (1 - rate) / n + z2 / (4 * n * n));
  const double scale = 1 + z2 / n;
  return {std::max(0.0, (centre - half) / scale), std::min(1.0, (centre + half) / scale)};
}

ClusterOutcomes outcomes_by_cluster(const ClusterSums& sums, Better better) {
  const double sign = better == Better::kDown ? -1 : 1;
  ClusterOutcomes outcomes;
  for (std::size_t i = 0; i < sums.size(); ++i) {
    const double gain = sign * (sums.method[i] - sums.baseline[i]);
    // The same values in another order may have sums that differ by a rounding.
    const bool is_tie = std::abs(gain) <= kRounding * (std::abs(sums.method[i]) + std::abs(sums.baseline[i]));
    ++(is_tie ? outcomes.ties : gain > 0 ? outcomes.wins : outcomes.losses);
  }
  return outcomes;
}

std::optional<WinRate> win_rate(std::int64_t wins, std::int64_t ties, std::int64_t losses,
                                std::int64_t clusters, double confidence) {
  const auto pairs = static_cast<double>(wins + ties + losses);
  if (pairs == 0) return std::nullopt;
  const double rate = (static_cast<double>(wins) + static_cast<double>(ties) / 2) / pairs;
  return WinRate{rate, wilson_interval(rate, static_cast<double>(clusters), confidence)};
}

std::optional<std::int64_t> influential_clusters(std::span<const double> sums) {
  double size = 0;
  for (const double value : sums) size += std::abs(value);
  const double whole = total(sums);
  if (std::abs(whole) <= kRounding * size) return std::nullopt;
  std::vector<double> gains;
  for (const double value : sums) gains.push_back(std::copysign(1.0, whole) * value);
  std::ranges::sort(gains, std::greater<>());
  double left = std::abs(whole);
  std::int64_t removed = 0;
  for (const double gain : gains) {
    if (left < std::abs(whole) / 2) break;
    left -= gain;
    ++removed;
  }
  return removed;
}

TestDisagreement disagreement(const PairedTests& tests, double level) {
  if (!tests.t) return {};
  const bool differs = tests.t->p_value < level;
  const auto disagrees = [&](double p_value) { return (p_value < level) != differs; };
  return {.wilcoxon = tests.wilcoxon && disagrees(tests.wilcoxon->p_value),
          .sign = tests.sign_p && disagrees(*tests.sign_p)};
}

std::optional<std::int64_t> few_that_carry(const PairedComparison& comparison) {
  constexpr std::int64_t kFew = 5, kMany = 20;  // of fewer than kMany, five are no small part
  const bool few = comparison.carried_by && *comparison.carried_by <= kFew && comparison.clusters >= kMany;
  return few ? comparison.carried_by : std::nullopt;
}

}  // namespace harness
