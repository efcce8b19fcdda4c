#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace harness {

// What methods on the forward process make of rewards besides advantages. `rewards`: those of one group of G
// images, none missing.

/// Rising indices of the largest reward, of all that tie for it.
std::vector<std::int64_t> best_of(std::span<const double> rewards);

/// Indices of a preference pair.
struct PreferencePair {
  std::int64_t best = 0, worst = 0;
};

/// The first of the largest and the first of the smallest. Equal rewards (G >= 2): 1 and 0, as the public
/// code has it; whether to train on such a pair is the method's matter.
PreferencePair best_and_worst(std::span<const double> rewards);

}  // namespace harness
