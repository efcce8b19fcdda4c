#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace harness {

/// The mean of one row of a table: of one method's run with one seed.
struct RowMean {
  std::string method;
  double mean = 0;
};

/// Intraclass correlation of rows by method: the share of the variance of row means that methods explain,
/// ICC(1) = (MS_B - MS_W) / (MS_B + (n_0 - 1) MS_W) of a one-way analysis of variance (Shrout and Fleiss
/// 1979, Psychol. Bull. 86), n_0 = (N - sum n_i^2 / N) / (k - 1) where methods have unequal numbers of runs
/// (Searle, Casella and McCulloch 1992, chapter 3). Not cut at 0: near or below it the methods differ by no
/// more than runs of one method do. Nothing below two methods, where no method has two runs, or where all
/// rows are equal.
std::optional<double> intraclass_correlation(std::span<const RowMean> rows);

/// How far methods lie apart in units of what runs leave uncertain: D = |mean delta| / (s_d / sqrt(S)) over
/// the paired differences of S runs. Nothing below two runs, or where the runs do not differ.
std::optional<double> discrimination(std::span<const double> run_deltas);

/// The comparison of a method with itself under another name: the true difference is 0.
struct NullComparison {
  std::vector<double> run_deltas;  ///< paired differences, one a run
  bool called_different = false;   ///< the verdict was "better" or "worse"
};

/// What differences without a cause look like.
struct NullYardstick {
  std::int64_t comparisons = 0, runs = 0;  ///< paired differences of runs in all
  std::int64_t called_different = 0;       ///< comparisons: each of them a false verdict
  double share = 0;                        ///< of comparisons
  double run_sd = 0;  ///< of a run's paired difference, about its true mean 0; holds run and prompt noise
};

/// Nothing without a run.
std::optional<NullYardstick> null_yardstick(std::span<const NullComparison> comparisons);

}  // namespace harness
