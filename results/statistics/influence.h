#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "results/statistics/bootstrap.h"

namespace harness {

/// How few clusters carry more than half of a mean difference: the smallest number whose removal from the sum
/// of the differences leaves less than half of it. They are those that differ most on the side of the mean.
/// sums: the sum of a cluster's differences, over its pairs or as means over runs. Nothing where the sum is
/// 0, up to rounding.
std::optional<std::int64_t> influential_clusters(std::span<const double> sums);
std::optional<std::int64_t> influential_clusters(const ClusterSums& sums);

}  // namespace harness
