#pragma once

#include <cstdint>

namespace harness {

// From when on a run counts as breaking the path-variance law (trainers/METRICS.md, "The law audit"): for its
// verdict (trainers/law/law_audit.h) and for the guides of the report.

inline constexpr std::int64_t kLawEnoughSamples = 100;  ///< fresh ones of a step, for a verdict
/// Standard errors. A run that obeys the law is marked in under 1 of 1,000 (trainers/METRICS.md).
inline constexpr double kLawBreakZ = 5;
inline constexpr double kLawBreakShare = 0.05;  ///< of the predicted value

}  // namespace harness
