#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "results/statistics.h"

namespace harness {

/// What a reader may conclude from one comparison.
struct Verdict {
  bool resolved = false;
  std::string text;  ///< "resolved: better", "not resolved; n = 2900 prompts would be needed"
};

struct VerdictSettings {
  double confidence = 0.95;
  std::optional<double> adjusted_p = {};    ///< after Holm; nothing where the test has no p-value
  std::optional<std::int64_t> needed = {};  ///< units_needed for the difference seen
  std::string unit = "prompts";             ///< what a cluster is, in the plural
};

/// What a difference other than 0 is: "better", "worse"; where no direction is good "higher", "lower".
std::string direction_of(double delta, Better better);

/// True where training runs were drawn too and that interval includes 0: what is resolved then holds for
/// these runs.
bool only_for_these_runs(const PairedComparison& comparison);

/// Resolved: the interval excludes 0 and the adjusted p-value, where there is one, is below 1 - confidence.
/// The n of the text is rounded up to two digits: it rests on a difference that is itself uncertain.
Verdict verdict_of(const PairedComparison& comparison, Better better, const VerdictSettings& settings);

}  // namespace harness
