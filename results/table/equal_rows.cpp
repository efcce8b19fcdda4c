#include "results/table/equal_rows.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "results/statistics/crossed.h"
#include "results/table/table.h"
#include "results/verdict/discriminability.h"

namespace harness {
namespace {

using Seeds = std::set<std::int64_t>;

/// Means of a run's complete pairs.
struct RunMeans {
  double first = 0, second = 0, delta = 0, n = 0;
};

std::map<std::int64_t, RunMeans> run_means(const EqualPair& pair) {
  std::map<std::int64_t, RunMeans> runs;
  for (const auto& value : complete_pairs(pair.pairs)) {
    auto& run = runs[value.seed];
    run.first += *value.baseline;
    run.second += *value.method;
    run.delta += *value.method - *value.baseline;
    ++run.n;
  }
  for (auto& [seed, run] : runs) {
    for (double* sum : {&run.first, &run.second, &run.delta}) *sum /= run.n;
  }
  return runs;
}

/// Runs of the first row against runs of the second, the i-th of each being a pair.
struct Cut {
  std::vector<std::int64_t> first, second;
};

/// Of each 2 x size seeds, in increasing order: one half against the other, and the other way round.
std::vector<Cut> cuts_of(const Seeds& seeds, std::size_t size) {
  const std::vector<std::int64_t> all(seeds.begin(), seeds.end());
  std::vector<Cut> cuts;
  for (std::size_t at = 0; at + 2 * size <= all.size(); at += 2 * size) {
    const auto begin = all.begin() + static_cast<std::ptrdiff_t>(at);
    const auto middle = begin + static_cast<std::ptrdiff_t>(size);
    const std::vector<std::int64_t> a(begin, middle), b(middle, middle + static_cast<std::ptrdiff_t>(size));
    cuts.push_back({a, b});
    cuts.push_back({b, a});
  }
  return cuts;
}

/// A run's values by cluster, in order.
using RunValues = std::map<std::int64_t, std::vector<std::optional<double>>>;

RunValues values_of(const EqualPair& pair, std::int64_t seed, std::optional<double> PairedValue::*side) {
  RunValues values;
  for (const auto& value : pair.pairs) {
    if (value.seed == seed) values[value.cluster].push_back(value.*side);
  }
  return values;
}

/// The pairs of a cut, whose runs are numbered from 0.
std::vector<PairedValue> cut_pairs(const EqualPair& pair, const Cut& cut) {
  std::vector<PairedValue> pairs;
  for (std::size_t i = 0; i < cut.first.size(); ++i) {
    const auto first = values_of(pair, cut.first[i], &PairedValue::baseline);
    const auto second = values_of(pair, cut.second[i], &PairedValue::method);
    for (const auto& [cluster, ours] : first) {
      const auto theirs = second.find(cluster);
      if (theirs == second.end()) continue;
      for (std::size_t k = 0; k < std::min(ours.size(), theirs->second.size()); ++k) {
        pairs.push_back({.baseline = ours[k],
                         .method = theirs->second[k],
                         .cluster = cluster,
                         .seed = static_cast<std::int64_t>(i)});
      }
    }
  }
  return pairs;
}

/// The comparisons as a table of these runs alone judges them.
std::vector<TableComparison> judged(std::span<const EqualPair> pairs, const Cut& cut,
                                    const BootstrapSettings& settings) {
  std::vector<PairedMetric> parts;
  std::vector<TableComparison> comparisons;
  for (const auto& pair : pairs) {
    parts.push_back({.pairs = cut_pairs(pair, cut), .better = pair.better});
    comparisons.push_back(
        {.baseline = pair.first, .method = pair.second, .metric = pair.metric, .restates = pair.restates});
  }
  auto results = compare_paired(parts, settings);
  for (std::size_t i = 0; i < comparisons.size(); ++i) comparisons[i].values = std::move(results[i]);
  adjust_comparisons(comparisons, settings.confidence);
  return comparisons;
}

/// The means of the runs of equal rows in one metric, by row and seed.
using RowRuns = std::map<std::string, std::map<std::int64_t, double>>;

/// sqrt(2) times the standard deviation of a row's runs; nothing where no row has two.
std::optional<double> difference_sd(const RowRuns& runs) {
  double variances = 0;
  int rows = 0;
  for (const auto& [row, means] : runs) {
    if (means.size() < 2) continue;
    double mean = 0, squares = 0;
    for (const auto& [seed, value] : means) mean += value / static_cast<double>(means.size());
    for (const auto& [seed, value] : means) squares += (value - mean) * (value - mean);
    variances += squares / static_cast<double>(means.size() - 1);
    ++rows;
  }
  if (rows == 0) return std::nullopt;
  return std::sqrt(2 * variances / rows);
}

YardstickMetric& metric_of(std::vector<YardstickMetric>& metrics, const std::string& name) {
  const auto found = std::ranges::find(metrics, name, &YardstickMetric::metric);
  if (found != metrics.end()) return *found;
  return metrics.emplace_back(YardstickMetric{.metric = name});
}

void count_verdicts(std::span<const EqualPair> pairs, const std::vector<Cut>& cuts, Claim claim,
                    const BootstrapSettings& settings, std::vector<YardstickMetric>& metrics) {
  for (const auto& cut : cuts) {
    for (const auto& comparison : judged(pairs, cut, settings)) {
      if (!comparison.values.delta || comparison.claim != claim) continue;
      auto& metric = metric_of(metrics, comparison.metric);
      auto& verdicts = claim == Claim::kMethods ? metric.methods : metric.checkpoints;
      ++verdicts.comparisons;
      verdicts.called += comparison.differs ? 1 : 0;
    }
  }
}

}  // namespace

std::vector<YardstickMetric> yardstick_metrics(std::span<const EqualPair> pairs,
                                               const BootstrapSettings& settings) {
  std::vector<YardstickMetric> metrics;
  std::map<std::string, std::vector<std::vector<double>>> differences;  // [comparisons][runs]
  std::map<std::string, RowRuns> runs;
  Seeds seeds;
  for (const auto& pair : pairs) {
    metric_of(metrics, pair.metric);
    std::vector<double> deltas;
    for (const auto& [seed, run] : run_means(pair)) {
      deltas.push_back(run.delta);
      runs[pair.metric][pair.first][seed] = run.first;
      runs[pair.metric][pair.second][seed] = run.second;
      seeds.insert(seed);
    }
    differences[pair.metric].push_back(std::move(deltas));
  }
  for (auto& metric : metrics) {
    const auto pooled = null_yardstick(differences[metric.metric]);
    if (!pooled) continue;
    metric.same_seed_sd = pooled->run_sd;
    metric.differences = pooled->runs;
    metric.run_sd = difference_sd(runs[metric.metric]);
    for (const auto& [row, means] : runs[metric.metric])
      metric.runs = std::max(metric.runs, static_cast<std::int64_t>(means.size()));
  }
  count_verdicts(pairs, cuts_of(seeds, 1), Claim::kCheckpoints, settings, metrics);
  count_verdicts(pairs, cuts_of(seeds, kFewestRuns), Claim::kMethods, settings, metrics);
  std::erase_if(metrics, [](const YardstickMetric& metric) { return metric.differences == 0; });
  return metrics;
}

}  // namespace harness
