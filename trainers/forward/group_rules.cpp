#include "trainers/forward/group_rules.h"

#include <algorithm>
#include <utility>

#include "core/require.h"

namespace harness {

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
