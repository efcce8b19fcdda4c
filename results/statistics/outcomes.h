#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "results/statistics/statistics.h"

namespace harness {

/// Wins, ties, losses and win rate over clusters, each by its mean difference, in place of pairs: for rows of
/// which no sample or run belongs to one of the other row, so that pairs by place mean nothing.
void count_by_cluster(const PairedMetric& metric, double confidence, PairedComparison& result);

/// Of rows whose runs are not paired: leaves the pairs at those samples of a prompt that every run of both
/// rows has, and the others out, which count as missing. Else it would
/// matter which run stands beside which. Every run has its pairs of a cluster in the same order.
void keep_samples_of_all_runs(std::vector<PairedValue>& pairs);

/// Pairs that tie at the lowest or the highest value of a metric, where they are nearly all.
struct EndTies {
  double value = 0;
  std::int64_t ties = 0, pairs = 0;
  bool lowest = false, highest = false;  ///< both: there is no other value
};

/// Nothing where fewer than four of five complete pairs tie at an end, or where there are fewer than two.
std::optional<EndTies> ties_at_an_end(std::span<const PairedValue> pairs);

}  // namespace harness
