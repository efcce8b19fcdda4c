#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

#include "harness/show/experiments.h"
#include "results/table/table.h"

namespace harness {

/// Writes and records tables, grid and figures that are not there yet, and fills model.artifacts.
void write_artifacts(Store& store, const Experiment& experiment, const std::filesystem::path& folder,
                     TableModel& model);

/// Writes the tables of a collection and adds their paths to `whole.artifacts`.
void write_tables(const std::filesystem::path& folder, TableModel& whole);

/// The experiment whose table.json lies in `folder`, if it is one of this DB.
std::optional<std::int64_t> experiment_in(Store& store, const std::filesystem::path& folder);

}  // namespace harness
