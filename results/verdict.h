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

/// Resolved: the interval excludes 0 and the adjusted p-value, where there is one, is below 1 - confidence.
/// The n of the text is rounded up to two digits: it rests on a difference that is itself uncertain.
Verdict verdict_of(const PairedComparison& comparison, Better better, const VerdictSettings& settings);

}  // namespace harness
