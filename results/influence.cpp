#include "results/influence.h"

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
