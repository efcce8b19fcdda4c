#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "results/store/records.h"

namespace harness {

/// As commands name the one that they take: "experiment 3: table sd35-ocr, backbone glyph, ...".
std::string in_words(const StoredReproduction& experiment);

/// Name of the prompt set that it was evaluated on; empty if its record has none.
std::string prompts_of(const StoredReproduction& experiment);

/// Its rows: the base model, where it has one, and the methods.
std::vector<std::string> row_names(const StoredReproduction& experiment);

/// Which experiment is looked at. What is empty does not matter.
struct ExperimentFilter {
  std::string table = {}, backbone = {}, scale = {}, prompts = {};
  std::vector<std::int64_t> seeds = {};
  std::optional<std::int64_t> experiment = {};  ///< reproductions.id
  std::vector<std::string> rows = {};           ///< it has runs of all of them
};

/// In how many ways a record is not what the filter asks for.
int misfits(const StoredReproduction& record, const ExperimentFilter& filter);

/// The last of the experiments, which come last one first, that fits and for which `also` holds; null where
/// there is none.
const StoredReproduction* last_that_fits(
    const std::vector<StoredReproduction>& records, const ExperimentFilter& filter,
    const std::function<bool(const StoredReproduction&)>& also = [](const auto&) { return true; });

/// What is measured in place of a metric of the experiment's table; empty if it is measured itself.
std::string stand_in(const StoredReproduction& experiment, const std::string& metric);

/// Throws Error where there is a stand_in: `option` gives that one.
void require_measured(const StoredReproduction& experiment, const std::string& metric,
                      const std::string& where, const std::string& option);

}  // namespace harness
