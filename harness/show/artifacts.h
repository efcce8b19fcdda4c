#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "harness/show/experiments.h"
#include "results/table/table.h"

namespace harness {

/// Writes table.{md,tex,csv,json,html}, the grid and the figures, records them and fills model.artifacts.
/// Where all are there with the recorded bytes, it only reads.
void write_artifacts(Store& store, const Experiment& experiment, const std::filesystem::path& folder,
                     TableModel& model);

/// The experiment whose table.json lies in `folder`, if it is one of this DB.
std::optional<std::int64_t> experiment_in(Store& store, const std::filesystem::path& folder);

}  // namespace harness
