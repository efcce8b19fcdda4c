#pragma once

#include <string>
#include <vector>

#include "results/store/records.h"

namespace SQLite {
class Database;
}

namespace harness {

/// The completed experiments, the last one first; without their evaluations and runs.
std::vector<StoredReproduction> completed_experiments(SQLite::Database& db);

/// As commands name the one that they take: "experiment 3: table sd35-ocr, backbone glyph, ...".
std::string in_words(const StoredReproduction& experiment);

/// Name of the prompt set that it was evaluated on; empty if its record has none.
std::string prompts_of(const StoredReproduction& experiment);

}  // namespace harness
