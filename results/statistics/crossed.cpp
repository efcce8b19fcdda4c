#include "results/statistics/crossed.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "results/statistics/numeric.h"

namespace harness {
namespace {

double mean_delta(std::span<const RunDifference> per_run) {
  double sum = 0;
  for (const auto& run : per_run) sum += run.delta;
  return sum / static_cast<double>(per_run.size());
}

// From pairs to one number a run and cluster

struct Cell {
  double sum = 0, count = 0;  ///< of the differences of a run's pairs in a cluster
  bool equal = true;          ///< all of them are 0
};
using Cells = std::map<std::int64_t, std::map<std::int64_t, Cell>>;  ///< by cluster and seed

/// What the clusters that every run has hold.
struct Balanced {
  std::vector<std::int64_t> seeds;
  std::vector<std::vector<double>> means;  ///< [runs][clusters], of a cell's differences
  std::vector<double> weights;             ///< [clusters], pairs of a cluster over their mean
  std::int64_t left_out = 0;
  bool equal = true;  ///< every difference is 0
};

Balanced balanced(const Cells& cells) {
  Balanced result;
  std::map<std::int64_t, std::size_t> places;
  for (const auto& [cluster, runs] : cells) {
    for (const auto& [seed, cell] : runs) places.emplace(seed, 0);
  }
  for (auto& [seed, place] : places) {
    place = result.seeds.size();
    result.seeds.push_back(seed);
  }
  result.means.resize(places.size());
  for (const auto& [cluster, runs] : cells) {
    if (runs.size() < places.size()) {
      ++result.left_out;
      continue;
    }
    double pairs = 0;
    for (const auto& [seed, cell] : runs) {
      result.means[places.at(seed)].push_back(cell.sum / cell.count);
      pairs += cell.count;
      result.equal = result.equal && cell.equal;
    }
    result.weights.push_back(pairs);
  }
  const double average = result.weights.empty() ? 1 : mean(result.weights);
  for (auto& weight : result.weights) weight /= average;
  return result;
}

Balanced balanced(std::span<const PairedValue> pairs) {
  Cells cells;
  for (const auto& pair : complete_pairs(pairs)) {
    auto& cell = cells[pair.cluster][pair.seed];
    cell.sum += *pair.method - *pair.baseline;
    cell.count += 1;
    cell.equal = cell.equal && *pair.method == *pair.baseline;
  }
  return balanced(cells);
}

double weighted_mean(std::span<const double> values, std::span<const double> weights) {
  double sum = 0;
  for (std::size_t i = 0; i < values.size(); ++i) sum += weights[i] * values[i];
  return sum / static_cast<double>(values.size());
}

/// delta + w_c (d_sc - delta): its mean over clusters is the run's weighted mean, and its spread is that of
/// the residuals behind standard_error in bootstrap.h.
std::vector<std::vector<double>> weighted_values(const Balanced& data, double delta) {
  auto values = data.means;
  for (auto& run : values) {
    for (std::size_t i = 0; i < run.size(); ++i) run[i] = delta + data.weights[i] * (run[i] - delta);
  }
  return values;
}

CrossedComparison without_estimate(const Balanced& data) {
  CrossedComparison result;
  result.runs = static_cast<std::int64_t>(data.seeds.size());
  result.clusters = static_cast<std::int64_t>(data.weights.size());
  for (std::size_t i = 0; i < data.seeds.size(); ++i) {
    result.per_run.push_back({data.seeds[i], weighted_mean(data.means[i], data.weights)});
  }
  result.delta = mean_delta(result.per_run);
  if (data.equal)
    result.state = CrossedState::kEqual;
  else if (result.runs < 2)
    result.state = CrossedState::kTooFewRuns;
  else if (result.clusters < 2)
    result.state = CrossedState::kTooFewClusters;
  return result;
}

// The estimate

double run_mean_square(std::span<const RunDifference> per_run, double delta, double clusters) {
  double squares = 0;
  for (const auto& run : per_run) squares += (run.delta - delta) * (run.delta - delta);
  return clusters * squares / static_cast<double>(per_run.size() - 1);
}

/// The degrees of freedom of the Student's t with this two-sided critical value, between those of the parts.
double freedom_of(double critical, const PartsFreedom& freedom, double level) {
  const auto [fewest, most] = std::minmax(freedom.runs, freedom.prompts);
  const auto excess = [&](double log_freedom) { return t_critical(std::exp(log_freedom), level) - critical; };
  const double low = std::log(fewest), high = std::log(most);
  if (fewest == most || excess(low) <= 0) return fewest;
  if (excess(high) >= 0) return most;
  return std::exp(zero_between(excess, low, high, 40));
}

double critical_of(const CrossedComparison& result, double level) {
  const auto& freedom = result.parts_freedom;
  return result.of_runs_alone ? t_critical(freedom.runs, level) : CriticalValue(freedom, level)(result.parts);
}

void add_interval(CrossedComparison& result, double confidence) {
  const auto& freedom = result.parts_freedom;
  const double error = std::sqrt(result.parts.total()), level = 1 - confidence;
  const double critical = critical_of(result, level), t = result.delta / error;
  result.standard_error = error;
  result.critical = critical;
  result.freedom = result.of_runs_alone ? freedom.runs : freedom_of(critical, freedom, level);
  result.p_value =
      result.of_runs_alone ? t_p_value(t, freedom.runs) : crossed_p_value(t, result.parts, freedom);
  result.ci = crossed_interval(result, confidence);
}

bool is_constant(const CrossedSquares& squares, std::span<const std::vector<double>> values) {
  const double spread = squares.runs + squares.prompts + squares.residual;
  double size = 0;
  for (const auto& run : values) {
    for (const double value : run) size += value * value;
  }
  return spread <= kRounding * kRounding * size;
}

/// Runs without any spread say nothing of how far the next one may lie.
bool are_one_run(std::span<const RunDifference> per_run) {
  return std::ssize(per_run) >= kFewestRuns &&
         std::ranges::all_of(per_run, [&](const auto& run) { return run.delta == per_run.front().delta; });
}

/// From the mean squares; numbers: S G.
VarianceParts parts_of(double runs, double prompts, double residual, double numbers) {
  return {.runs = runs / numbers, .prompts = std::max(0.0, prompts - residual) / numbers};
}

/// Adds what the sums of squares say; run_square: MS_S, with so many degrees of freedom.
void add_estimate(CrossedComparison& result, const CrossedSquares& squares, double run_square,
                  double run_freedom, double confidence) {
  const auto s = static_cast<double>(result.runs), g = static_cast<double>(result.clusters);
  result.parts_freedom = {run_freedom, g - 1};
  const double prompt_square = squares.prompts / (g - 1), residual = squares.residual / ((s - 1) * (g - 1));
  result.components = {.run = std::max(0.0, run_square - residual) / g,
                       .prompt = std::max(0.0, prompt_square - residual) / s,
                       .residual = residual};
  result.parts = parts_of(run_square, prompt_square, residual, s * g);
  if (result.parts.total() > 0)
    add_interval(result, confidence);
  else
    result.state = CrossedState::kNoSpread;
}

/// Of one side of the pairs, as if the other were 0.
CrossedSquares squares_of(std::span<const PairedValue> pairs, std::optional<double> PairedValue::*side) {
  auto own = complete_pairs(pairs);
  for (auto& pair : own) {
    pair.method = pair.*side;
    pair.baseline = 0;
  }
  const auto data = balanced(own);
  return crossed_squares(weighted_values(data, without_estimate(data).delta));
}

/// What two rows of runs with these sums of squares have of the degrees of freedom of one: 1 to 2.
double welch_factor(double a, double b) {
  const double squares = a * a + b * b;
  return squares > 0 ? (a + b) * (a + b) / squares : 1;
}

/// Clusters of which some run of either side has a value.
std::int64_t clusters_with_values(std::span<const PairedValue> pairs) {
  std::set<std::int64_t> clusters;
  for (const auto& pair : pairs) {
    if (pair.baseline || pair.method) clusters.insert(pair.cluster);
  }
  return std::ssize(clusters);
}

}  // namespace

CrossedSquares crossed_squares(std::span<const std::vector<double>> values) {
  const std::size_t runs = values.size(), clusters = values.front().size();
  std::vector<double> run_means, prompt_means(clusters, 0.0);
  for (const auto& run : values) {
    run_means.push_back(mean(run));
    for (std::size_t i = 0; i < clusters; ++i) prompt_means[i] += run[i] / static_cast<double>(runs);
  }
  const double all = mean(run_means);
  const auto square = [](double x) { return x * x; };
  CrossedSquares squares;
  for (std::size_t s = 0; s < runs; ++s) {
    squares.runs += static_cast<double>(clusters) * square(run_means[s] - all);
    for (std::size_t i = 0; i < clusters; ++i)
      squares.residual += square(values[s][i] - run_means[s] - prompt_means[i] + all);
  }
  for (const double value : prompt_means) squares.prompts += static_cast<double>(runs) * square(value - all);
  return squares;
}

VarianceParts variance_parts(std::span<const RunDifference> per_run, std::int64_t clusters,
                             double prompt_mean_square, double residual_mean_square) {
  const auto s = static_cast<double>(per_run.size()), g = static_cast<double>(clusters);
  return parts_of(run_mean_square(per_run, mean_delta(per_run), g), prompt_mean_square, residual_mean_square,
                  s * g);
}

std::optional<CrossedComparison> crossed(std::span<const PairedValue> pairs, double confidence,
                                         bool runs_are_paired) {
  const auto data = balanced(pairs);
  if (data.weights.empty()) return std::nullopt;
  auto result = without_estimate(data);
  if (result.state == CrossedState::kEstimated) {
    const auto values = weighted_values(data, result.delta);
    auto squares = crossed_squares(values);
    auto run_square = run_mean_square(result.per_run, result.delta, static_cast<double>(result.clusters));
    auto freedom = static_cast<double>(result.runs - 1);
    if (!runs_are_paired) {
      const auto baseline = squares_of(pairs, &PairedValue::baseline),
                 method = squares_of(pairs, &PairedValue::method);
      squares.runs = baseline.runs + method.runs;
      squares.residual = baseline.residual + method.residual;
      run_square = squares.runs / freedom;
      freedom *= welch_factor(baseline.runs, method.runs);
    }
    if (is_constant(squares, values) || (runs_are_paired && are_one_run(result.per_run)))
      result.state = CrossedState::kNoSpread;
    else
      add_estimate(result, squares, run_square, freedom, confidence);
  }
  result.clusters_left_out = runs_are_paired ? data.left_out : clusters_with_values(pairs) - result.clusters;
  return result;
}

std::optional<CrossedComparison> over_runs(std::span<const PairedValue> pairs, double confidence) {
  std::vector<PairedValue> of_one_cluster(pairs.begin(), pairs.end());
  for (auto& pair : of_one_cluster) pair.cluster = 0;
  const auto data = balanced(of_one_cluster);
  if (data.weights.empty()) return std::nullopt;
  auto result = without_estimate(data);
  result.clusters = result.runs;
  result.of_runs_alone = true;
  if (result.state != CrossedState::kTooFewClusters) return result;
  result.state = CrossedState::kEstimated;
  const auto count = static_cast<double>(result.runs);
  const double variance = run_mean_square(result.per_run, result.delta, 1);
  double largest = 0;
  for (const auto& run : result.per_run) largest = std::max(largest, std::abs(run.delta));
  if (std::sqrt(variance) <= kRounding * largest) {
    result.state = CrossedState::kNoSpread;
    return result;
  }
  result.components.run = variance;
  result.parts.runs = variance / count;
  result.parts_freedom = {count - 1, count - 1};
  add_interval(result, confidence);
  return result;
}

bool raise_run_variance(double least, CrossedComparison& comparison) {
  if (comparison.state != CrossedState::kEstimated || comparison.parts.runs >= least) return false;
  comparison.parts.runs = least;
  const auto runs = static_cast<double>(comparison.runs), clusters = static_cast<double>(comparison.clusters);
  const double variance = runs * least;  // of a run's mean difference, which holds the residual's share
  comparison.components.run = comparison.of_runs_alone
                                  ? variance
                                  : std::max(0.0, variance - comparison.components.residual / clusters);
  return true;
}

void renew_interval(CrossedComparison& comparison) {
  constexpr double kConfidence = 0.95;
  add_interval(comparison, kConfidence);
}

std::optional<Interval> crossed_interval(const CrossedComparison& comparison, double confidence) {
  if (!comparison.standard_error) return std::nullopt;
  const double half = critical_of(comparison, 1 - confidence) * *comparison.standard_error;
  return Interval{comparison.delta - half, comparison.delta + half};
}

}  // namespace harness
