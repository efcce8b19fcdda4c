#include "trainers/forward/group_rules.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "core/require.h"
#include "trainers/advantage.h"

namespace harness {

double optimality(double advantage, double limit) {
  require(limit > 0, "an advantage has a positive limit");
  return std::clamp(std::clamp(advantage, -limit, limit) / limit / 2 + 0.5, 0.0, 1.0);
}

std::vector<double> softmax_weights(std::span<const double> rewards, double temperature) {
  require(!rewards.empty() && temperature > 0, "a softmax has numbers and a positive temperature");
  const std::vector<std::optional<double>> group(rewards.begin(), rewards.end());
  auto weights =
      group_advantages(group, static_cast<int>(group.size()), std::numeric_limits<double>::infinity()).values;
  const double highest = std::ranges::max(weights);
  double sum = 0;
  for (double& w : weights) sum += w = std::exp((w - highest) / temperature);
  for (double& w : weights) w *= static_cast<double>(rewards.size()) / sum;
  return weights;
}

std::vector<std::int64_t> best_of(std::span<const double> rewards) {
  require(!rewards.empty(), "a group has rewards");
  const double highest = std::ranges::max(rewards);
  std::vector<std::int64_t> best;
  for (std::size_t i = 0; i < rewards.size(); ++i) {
    if (rewards[i] == highest) best.push_back(static_cast<std::int64_t>(i));
  }
  return best;
}

PreferencePair best_and_worst(std::span<const double> rewards) {
  require(rewards.size() >= 2, "a pair is of two images");
  const auto [worst, best] = std::pair(std::ranges::min_element(rewards), std::ranges::max_element(rewards));
  if (*worst == *best) return {.best = 1, .worst = 0};
  return {.best = best - rewards.begin(), .worst = worst - rewards.begin()};
}

}  // namespace harness
