#pragma once

#include <cstdint>

namespace harness {

// From when on a run counts as breaking the path-variance law (trainers/METRICS.md, "The law audit"): for its
// verdict (trainers/law_audit.h) and for the guides of the report.

inline constexpr std::int64_t kLawEnoughSamples = 100;  ///< fresh ones of a step, for a verdict
inline constexpr double kLawBreakZ = 4.5;               ///< standard errors
inline constexpr double kLawBreakShare = 0.05;          ///< of the predicted value

}  // namespace harness
