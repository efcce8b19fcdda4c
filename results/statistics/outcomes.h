#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "results/statistics/statistics.h"

namespace harness {

/// Wins, ties, losses and win rate over clusters, each by its mean difference, in place of pairs: for rows of
/// which no sample or run belongs to one of the other row, so that pairs by place mean nothing.
void count_by_cluster(const PairedMetric& metric, double confidence, PairedComparison& result);

/// Pairs that tie at the lowest or the highest value of a metric, where they are nearly all.
struct EndTies {
  double value = 0;
  std::int64_t ties = 0, pairs = 0;
  bool lowest = false, highest = false;  ///< both: there is no other value
};

/// Nothing where fewer than four of five complete pairs tie at an end, or where there are fewer than two.
std::optional<EndTies> ties_at_an_end(std::span<const PairedValue> pairs);

}  // namespace harness
