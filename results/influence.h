#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "results/statistics.h"

namespace harness {

/// How few clusters carry more than half of a mean difference: the smallest number whose removal from the sum
/// of the differences leaves less than half of it. They are those that differ most on the side of the mean.
/// sums: the sum of a cluster's differences, over its pairs or as means over runs. Nothing where the sum is
/// 0, up to rounding.
std::optional<std::int64_t> influential_clusters(std::span<const double> sums);
std::optional<std::int64_t> influential_clusters(const ClusterSums& sums);

/// The number of prompts that carry more than half of a difference, where they are so few (5 or fewer of 20
/// or more) that a reader should look at them before quoting it.
std::optional<std::int64_t> few_that_carry(const PairedComparison& comparison);

/// Which rank tests come to another conclusion at `level` than the paired t does. None where there is no t.
struct TestDisagreement {
  bool wilcoxon = false, sign = false;
  bool any() const { return wilcoxon || sign; }
};
TestDisagreement disagreement(const PairedTests& tests, double level = 0.05);

}  // namespace harness
