#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "results/store/records.h"

namespace harness {

/// What the DB and the journal keep of a comparison: a row of `comparisons`. The numbers over training runs
/// are nothing where there is one run.
struct ComparisonRow {
  std::string split = {}, metric = {}, baseline = {}, method = {};
  std::int64_t n = 0, n_missing = 0, clusters = 0;
  std::optional<double> baseline_mean = {}, method_mean = {}, delta = {};
  std::optional<Interval> ci95 = {};
  std::int64_t wins = 0, ties = 0, losses = 0;
  std::optional<double> t = {}, p_value = {};
  std::string test = {};
  std::optional<std::string> note = {};
  std::optional<std::string> claim = {};  ///< nothing: of a version that told no claims apart
  std::optional<std::int64_t> runs = {};
  std::optional<double> runs_se = {}, runs_df = {};
  std::optional<Interval> runs_ci95 = {};
  std::optional<double> runs_p_value = {};
};

ComparisonRow row_of(const ComparisonRecord& comparison);

/// The comparison as far as it is kept: without the runs' own differences and the further tests.
ComparisonRecord comparison_of(const ComparisonRow& row);

/// Its numbers with the names of their columns, in the order of the columns.
std::vector<std::pair<std::string, std::optional<double>>> numbers_of(const ComparisonRow& row);

}  // namespace harness
