#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace harness {

/// "seed 42", "seeds 42 to 49" where they follow one another, else "seeds 42, 44".
std::string seeds_in_words(const std::vector<std::int64_t>& seeds);

}  // namespace harness
