#pragma once

#include <span>
#include <string>
#include <vector>

#include "results/statistics/bootstrap.h"
#include "results/statistics/paired.h"
#include "results/verdict/yardstick.h"

namespace harness {

/// Two equal rows in one metric: the pairs of all seeds, first row as the baseline.
struct EqualPair {
  std::string first, second, metric;
  std::string restates = {};  ///< TableComparison::restates
  Better better = Better::kUp;
  std::vector<PairedValue> pairs = {};
};

/// The metrics in order of first appearance; one without a complete pair is left out.
///
/// A run's mean is over its complete pairs. Verdicts are those of verdict_of after Holm, as in tables made of
/// equal rows alone whose runs have nothing in common: of two seeds, the first row's run of the one against
/// the second row's of the other and the other way round; of six seeds, likewise three runs against three.
/// Seeds are taken in increasing order, and those that are left over make none. A table's family are all
/// pairs of rows in all metrics.
std::vector<YardstickMetric> yardstick_metrics(std::span<const EqualPair> pairs,
                                               const BootstrapSettings& settings = {});

}  // namespace harness
