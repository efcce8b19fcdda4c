#include "results/statistics/influence.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

namespace harness {
namespace {

constexpr double kRounding = 1e-12;  // relative to the sum of sizes; a smaller sum is 0

}  // namespace

std::optional<std::int64_t> influential_clusters(std::span<const double> sums) {
  double whole = 0, size = 0;
  for (const double value : sums) {
    whole += value;
    size += std::abs(value);
  }
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

std::optional<std::int64_t> influential_clusters(const ClusterSums& sums) {
  std::vector<double> differences;
  for (std::size_t i = 0; i < sums.size(); ++i) differences.push_back(sums.method[i] - sums.baseline[i]);
  return influential_clusters(differences);
}

}  // namespace harness
