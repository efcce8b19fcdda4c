#pragma once

#include <cmath>

namespace harness {

/// Numbers beyond this, either way, are no scores: statistics add up squares and cubes of them, which shall
/// fit a double.
inline constexpr double kLargestScore = 1e100;

inline bool is_usable_score(double value) {
  return std::abs(value) <= kLargestScore;  // false for NaN
}

}  // namespace harness
