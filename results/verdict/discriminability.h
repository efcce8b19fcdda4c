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
/// (Searle, Casella and McCulloch 1992, chapter 3). Not cut at 0: near or below it methods differ as runs of
/// one do. Nothing below two methods, where no method has two runs, or where all rows are equal.
std::optional<double> intraclass_correlation(std::span<const RowMean> rows);

/// How far methods lie apart in units of what runs leave uncertain: D = |mean delta| / (s_d / sqrt(S)) over
/// the paired differences of S runs. Nothing below two runs, or where the runs do not differ.
std::optional<double> discrimination(std::span<const double> run_deltas);

/// What differences without a cause look like.
struct NullYardstick {
  std::int64_t runs = 0;  ///< paired differences of runs in all
  double run_sd = 0;      ///< of one, about its true mean 0; holds run and prompt noise
};

/// From the paired differences, one a run, of each comparison of a method with itself under another name.
/// Nothing without a run.
std::optional<NullYardstick> null_yardstick(std::span<const std::vector<double>> comparisons);

}  // namespace harness
