#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "results/store/records.h"

namespace harness {

/// As commands name the one that they take: "experiment 3: table sd35-ocr, backbone glyph, ...".
std::string in_words(const StoredReproduction& experiment);

/// "seed 42", "seeds 42 to 49" where they follow one another, else "seeds 42, 44".
std::string seeds_in_words(const std::vector<std::int64_t>& seeds);

/// Name of the prompt set that it was evaluated on; empty if its record has none.
std::string prompts_of(const StoredReproduction& experiment);

}  // namespace harness
