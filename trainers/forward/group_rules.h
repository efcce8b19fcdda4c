#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace harness {

// Rules on the rewards of one group of G images, none missing.

/// Rising indices of the largest reward, of all that tie for it.
std::vector<std::int64_t> best_of(std::span<const double> rewards);

/// Indices of a preference pair.
struct PreferencePair {
  std::int64_t best = 0, worst = 0;
};

/// The first of the largest and the first of the smallest; of equal rewards (G >= 2) 1 and 0, as in the
/// public code.
PreferencePair best_and_worst(std::span<const double> rewards);

}  // namespace harness
