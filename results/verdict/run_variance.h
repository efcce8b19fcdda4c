#pragma once

#include <functional>
#include <map>
#include <set>
#include <span>
#include <string>
#include <utility>

#include "results/statistics/comparison.h"

namespace harness {

/// Medians of the variances between runs: among the differences of one metric to one baseline none may be
/// below theirs, as few runs that agree by chance would else be taken for runs that agree.
class RunVariances {
 public:
  RunVariances() = default;
  /// Of those that count. What has no estimate over runs never does.
  explicit RunVariances(
      std::span<const Comparison> comparisons,
      const std::function<bool(const Comparison&)>& counts = [](const Comparison&) { return true; });

  /// Raises the variance of one of them, or of the same rows with the other as baseline, to the median, and
  /// of what missing values could make of it; others stay as they are. renew makes its interval anew.
  void raise(Comparison& comparison,
             const std::function<void(CrossedComparison&)>& renew = renew_interval) const;
  /// Puts a prefix before the rows' names.
  void prefix_rows(const std::string& prefix);

 private:
  std::map<std::pair<std::set<std::string>, std::string>, double> least_;  ///< by rows and metric
};

}  // namespace harness
