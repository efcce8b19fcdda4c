#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/json.h"
#include "results/bootstrap.h"
#include "results/paired.h"

namespace harness {

/// Verdicts on differences between equal rows. Of methods, each that was called one is false.
struct NullVerdicts {
  std::int64_t comparisons = 0, called = 0;
};

/// What runs of one method differ by, in one metric.
struct YardstickMetric {
  std::string metric;
  double run_sd = 0;  ///< null_yardstick: of the paired difference of two runs, about 0; in the metric's unit
  std::int64_t differences = 0;   ///< behind it: one a pair of rows and seed
  NullVerdicts methods = {};      ///< "better", "worse": of three runs a row
  NullVerdicts checkpoints = {};  ///< "these checkpoints differ": of one run a row
};

/// What differences without a cause look like: runs of one method under several names.
struct Yardstick {
  std::int64_t experiment = 0;  ///< that it is from
  std::string table, method;
  std::vector<std::string> rows = {};  ///< that are equal
  std::vector<std::int64_t> seeds = {};
  std::string split = {};
  bool is_own = false;  ///< of the table that shows it
  std::vector<YardstickMetric> metrics = {};

  const YardstickMetric* find(const std::string& metric) const;
};

/// A row of a table with equal rows, and in which metrics it was called better or worse than the baseline.
struct CalibrationRow {
  std::string row;
  bool is_equal = false;  ///< to the baseline: whatever is called is false
  std::int64_t metrics = 0;
  std::vector<std::string> called = {};
};

/// What the rule for verdicts made of rows that are known to be equal, and of others that should differ.
struct Calibration {
  std::int64_t experiment = 0;
  std::string table, baseline;
  std::int64_t runs = 0;  ///< of a row, the fewest
  std::vector<CalibrationRow> rows = {};
};

/// Two equal rows in one metric: the pairs of all seeds, first row as the baseline.
struct EqualPair {
  std::string first, second, metric;
  Better better = Better::kUp;
  std::vector<PairedValue> pairs = {};
};

/// The metrics in order of first appearance; one without a complete pair is left out.
///
/// A difference of runs is the mean over the complete pairs of a seed; run_sd pools those of all pairs of
/// rows (null_yardstick). With k rows only k - 1 differences of a seed are free of one another.
///
/// Verdicts are those of verdict_of after Holm, as in tables made of equal rows alone: for each seed a table
/// of one run, and for each three seeds, taken in increasing order and no seed twice, a table of three runs;
/// one or two seeds that are left over make none. Its family are all pairs of rows in all metrics.
std::vector<YardstickMetric> yardstick_metrics(std::span<const EqualPair> pairs,
                                               const BootstrapSettings& settings = {});

/// {"experiment", "table", "method", "rows", "seeds", "split", "own", "metrics": {NAME: {"run_sd",
/// "differences", "methods": {"comparisons", "called", "share"}, "checkpoints": {...}}}}
Json yardstick_json(const Yardstick& yardstick);

/// {"experiment", "table", "baseline", "runs", "rows": {NAME: {"equal", "metrics", "called": [METRIC, ...]}}}
Json calibration_json(const Calibration& calibration);

}  // namespace harness
