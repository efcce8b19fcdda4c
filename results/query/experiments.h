#pragma once

#include <string>

#include "results/store/records.h"

namespace harness {

/// As commands name the one that they take: "experiment 3: table sd35-ocr, backbone glyph, ...".
std::string in_words(const StoredReproduction& experiment);

/// Name of the prompt set that it was evaluated on; empty if its record has none.
std::string prompts_of(const StoredReproduction& experiment);

}  // namespace harness
