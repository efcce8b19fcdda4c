#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "core/json.h"
#include "results/store/store.h"

namespace harness {

/// The run of `id` or its unique beginning. Throws Error (status 2) with the nearest, or naming several.
StoredRun find_run(Store& store, const std::string& id);

/// Where the run's folder is (run_folder_now).
std::filesystem::path folder_of(const Store& store, const StoredRun& run);

/// A finished experiment that shows a run.
struct ExperimentOfRun {
  std::int64_t number = 0;
  std::string table, scale;
};
void to_json(Json& json, const ExperimentOfRun& experiment);
std::vector<ExperimentOfRun> experiments_with(Store& store, const std::string& run_id);

}  // namespace harness
