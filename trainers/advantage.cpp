#include "trainers/advantage.h"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace harness {
namespace {

/// Writes the advantages of one group. Returns whether it has rewards and they are all equal.
bool group_into(std::span<const std::optional<double>> rewards, double limit, std::span<double> out) {
  std::vector<double> known;
  for (const auto& r : rewards) {
    if (r) known.push_back(*r);
  }
  if (known.empty()) return false;
  // Asked exactly: a mean of equal numbers may round to another number.
  if (std::ranges::min(known) == std::ranges::max(known)) return true;
  const auto n = static_cast<double>(known.size());
  double mean = 0, variance = 0;
  for (const double r : known) mean += r / n;
  for (const double r : known) variance += (r - mean) * (r - mean) / n;
  for (std::size_t i = 0; i < rewards.size(); ++i) {
    if (rewards[i]) out[i] = std::clamp((*rewards[i] - mean) / (std::sqrt(variance) + 1e-4), -limit, limit);
  }
  return false;
}

}  // namespace

Advantages group_advantages(std::span<const std::optional<double>> rewards, int group_size, double limit) {
  const auto size = static_cast<std::size_t>(group_size);
  assert(group_size > 0 && rewards.size() % size == 0);
  Advantages result{.values = std::vector<double>(rewards.size(), 0.0)};
  result.missing = static_cast<int>(std::ranges::count_if(rewards, [](const auto& r) { return !r; }));
  for (std::size_t first = 0; first < rewards.size(); first += size) {
    const std::span out(result.values.data() + first, size);
    if (group_into(rewards.subspan(first, size), limit, out)) ++result.zero_std_groups;
  }
  return result;
}

}  // namespace harness
