#pragma once

#include <cstdint>
#include <vector>

namespace harness {

/// Positions of a prompt set, divided in two.
struct Split {
  std::vector<int> validation;  ///< in the order drawn
  std::vector<int> test;        ///< all others, ascending
};

/// validation = random.Random(seed).sample(range(of), take) of CPython, test = the sorted complement.
/// Throws Error unless of >= 1 and 0 <= take <= of.
Split make_split(std::uint64_t seed, int of, int take);

}  // namespace harness
