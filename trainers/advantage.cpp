#include "trainers/advantage.h"

#include <algorithm>
#include <cmath>

#include "core/require.h"

namespace harness {
namespace {

std::vector<double> known_of(std::span<const std::optional<double>> rewards) {
  std::vector<double> known;
  for (const auto& r : rewards) {
    if (r) known.push_back(*r);
  }
  return known;
}

double mean_of(const std::vector<double>& values) {
  double mean = 0;
  for (const double v : values) mean += v / static_cast<double>(values.size());
  return mean;
}

/// Population standard deviation.
double deviation_of(const std::vector<double>& values) {
  const double mean = mean_of(values);
  double variance = 0;
  for (const double v : values) variance += (v - mean) * (v - mean) / static_cast<double>(values.size());
  return std::sqrt(variance);
}

/// Asked exactly: a mean of equal numbers may round to another number.
bool all_equal(const std::vector<double>& values) {
  return values.empty() || std::ranges::min(values) == std::ranges::max(values);
}

}  // namespace

Advantages group_advantages(std::span<const std::optional<double>> rewards, int group_size, double limit,
                            AdvantageStd std) {
  const auto size = static_cast<std::size_t>(group_size);
  require(group_size > 0 && rewards.size() % size == 0, "rewards come in whole groups");
  Advantages result{.values = std::vector<double>(rewards.size(), 0.0), .group_differs = {}};
  result.missing = static_cast<int>(std::ranges::count_if(rewards, [](const auto& r) { return !r; }));
  const double of_all = std == AdvantageStd::kGlobal ? deviation_of(known_of(rewards)) : 0;
  for (std::size_t first = 0; first < rewards.size(); first += size) {
    const auto known = known_of(rewards.subspan(first, size));
    result.group_differs.push_back(!all_equal(known));
    if (all_equal(known)) {
      if (!known.empty()) ++result.zero_std_groups;
      continue;
    }
    const double mean = mean_of(known),
                 deviation = std == AdvantageStd::kGlobal ? of_all : deviation_of(known);
    for (std::size_t i = first; i < first + size; ++i) {
      if (rewards[i]) result.values[i] = std::clamp((*rewards[i] - mean) / (deviation + 1e-4), -limit, limit);
    }
  }
  return result;
}

}  // namespace harness
