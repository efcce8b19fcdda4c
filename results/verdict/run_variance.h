#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "results/statistics/comparison.h"

namespace harness {

/// What makes the interval of an estimate anew.
using RenewInterval = std::function<void(CrossedComparison&)>;

/// Gives those whose runs vary less than the median of all the variance of the median. Few runs that agree by
/// chance would else be taken for runs that agree. Differences without an estimate over runs do not count.
/// The median; nothing where there is no estimate.
std::optional<double> raise_run_variances(std::span<PairedComparison* const> values,
                                          const RenewInterval& renew = renew_interval);

/// What the differences of a page make of their runs' variances: among those of one metric to one baseline
/// none is below the median.
class RunVariances {
 public:
  RunVariances() = default;
  /// Raises them.
  explicit RunVariances(std::span<Comparison> comparisons, const RenewInterval& renew = renew_interval);

  /// Raises that of a comparison of the same rows, whichever of them is the baseline, as here.
  void raise(Comparison& comparison) const;
  /// Puts a prefix before the rows' names.
  void prefix_rows(const std::string& prefix);

 private:
  std::map<std::pair<std::set<std::string>, std::string>, double> least_;  ///< by rows and metric
};

}  // namespace harness
