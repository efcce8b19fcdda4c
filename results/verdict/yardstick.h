#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/json.h"

namespace harness {

/// Verdicts on differences between equal rows. Of methods, each that was called one is false.
struct NullVerdicts {
  std::int64_t comparisons = 0, called = 0;
};

/// What runs of one method differ by, in one metric and its unit.
struct YardstickMetric {
  std::string metric;
  /// Of the difference of two runs with different seeds: sqrt(2) times the standard deviation of a row's
  /// runs, the variances of the equal rows averaged. Nothing from one seed.
  std::optional<double> run_sd = {};
  std::int64_t runs = 0;  ///< of a row, behind it
  /// Of the paired difference of two equal rows' runs with the same seed, about 0 (null_yardstick). Where the
  /// rows hardly leave one path, it is far below run_sd and says nothing of the noise of runs.
  double same_seed_sd = 0;
  std::int64_t differences = 0;   ///< behind it: one a pair of rows and seed
  NullVerdicts methods = {};      ///< "better", "worse": of three runs a row, of different seeds
  NullVerdicts checkpoints = {};  ///< "these checkpoints differ": of one run a row, of different seeds
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

/// {"experiment", "table", "method", "rows", "seeds", "split", "own", "metrics": {NAME: {"run_sd", "runs",
/// "same_seed_sd", "differences", "methods": {"comparisons", "called", "share"}, "checkpoints": {...}}}}
Json yardstick_json(const Yardstick& yardstick);

/// {"experiment", "table", "baseline", "runs", "rows": {NAME: {"equal", "metrics", "called": [METRIC, ...]}}}
Json calibration_json(const Calibration& calibration);

}  // namespace harness
