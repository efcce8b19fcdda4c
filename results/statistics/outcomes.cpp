#include "results/statistics/outcomes.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

namespace harness {

void count_by_cluster(const PairedMetric& metric, double confidence, PairedComparison& result) {
  const auto outcomes = outcomes_by_cluster(cluster_sums(complete_pairs(metric.pairs)), metric.better);
  result.wins = outcomes.wins;
  result.ties = outcomes.ties;
  result.losses = outcomes.losses;
  result.win_rate = win_rate(result.wins, result.ties, result.losses, result.clusters, confidence);
}

void keep_samples_of_all_runs(std::vector<PairedValue>& pairs) {
  using Place = std::pair<std::int64_t, std::int64_t>;  // a cluster, and the number of a pair there
  std::map<Place, std::int64_t> met, complete;          // met: by cluster and seed
  std::set<std::int64_t> seeds;
  std::vector<Place> places;
  for (const auto& pair : pairs) {
    seeds.insert(pair.seed);
    places.emplace_back(pair.cluster, met[{pair.cluster, pair.seed}]++);
    complete[places.back()] += std::ssize(complete_pairs({&pair, 1}));
  }
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const bool is_complete = !complete_pairs({&pairs[i], 1}).empty();
    if (is_complete && complete.at(places[i]) < std::ssize(seeds)) pairs[i].left_out = true;
  }
}

std::optional<EndTies> ties_at_an_end(std::span<const PairedValue> pairs) {
  constexpr double kNearlyAll = 0.8;
  const auto complete = complete_pairs(pairs);
  if (complete.size() < 2) return std::nullopt;
  double low = *complete.front().method, high = low;
  for (const auto& pair : complete) {
    low = std::min({low, *pair.baseline, *pair.method});
    high = std::max({high, *pair.baseline, *pair.method});
  }
  const auto ties_at = [&](double value) {
    return std::ranges::count_if(
        complete, [&](const PairedValue& pair) { return pair.baseline == value && pair.method == value; });
  };
  const auto at_low = ties_at(low), at_high = ties_at(high);
  const auto ties = std::max(at_low, at_high);
  if (static_cast<double>(ties) < kNearlyAll * static_cast<double>(complete.size())) return std::nullopt;
  return EndTies{.value = at_low == ties ? low : high,
                 .ties = ties,
                 .pairs = std::ssize(complete),
                 .lowest = at_low == ties,
                 .highest = at_high == ties};
}

}  // namespace harness
