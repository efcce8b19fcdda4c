#pragma once

#include <cstdint>
#include <optional>

#include "results/crossed.h"

namespace harness {

/// What the DB and the journal keep of a CrossedComparison: the columns runs, runs_se, runs_df,
/// runs_ci95_low, runs_ci95_high and runs_p_value of `comparisons`.
struct StoredRuns {
  std::optional<std::int64_t> runs = {};
  std::optional<double> error = {}, freedom = {}, low = {}, high = {}, p_value = {};
};

StoredRuns stored_runs(const std::optional<CrossedComparison>& crossed);

/// What a claim rests on, from what is kept of it: interval, p-value, number of runs and standard error.
/// Without the runs' own differences. Nothing where no number of runs is kept.
std::optional<CrossedComparison> crossed_from(const StoredRuns& stored, std::optional<double> delta);

}  // namespace harness
