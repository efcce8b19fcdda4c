#include "results/stored_runs.h"

namespace harness {

StoredRuns stored_runs(const std::optional<CrossedComparison>& crossed) {
  if (!crossed) return {};
  StoredRuns stored{.runs = crossed->runs,
                    .error = crossed->standard_error,
                    .freedom = crossed->freedom,
                    .p_value = crossed->p_value};
  if (crossed->ci) {
    stored.low = crossed->ci->low;
    stored.high = crossed->ci->high;
  }
  return stored;
}

std::optional<CrossedComparison> crossed_from(const StoredRuns& stored, std::optional<double> delta) {
  if (!stored.runs) return std::nullopt;
  CrossedComparison crossed{.runs = *stored.runs, .delta = delta.value_or(0), .per_run = {}};
  crossed.standard_error = stored.error;
  crossed.freedom = stored.freedom;
  crossed.p_value = stored.p_value;
  if (stored.low && stored.high) crossed.ci = Interval{*stored.low, *stored.high};
  if (!crossed.ci) crossed.state = delta == 0.0 ? CrossedState::kEqual : CrossedState::kNoSpread;
  return crossed;
}

}  // namespace harness
