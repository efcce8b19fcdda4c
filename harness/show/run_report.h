#pragma once

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

/// What has become of a run: "done", "running" (a living process writes its log), "failed", "interrupted"
/// (begun and held by nobody), "planned". Of the training; logs that the DB has not read yet count.
std::string live_state(Store& store, const StoredRun& run);

/// Everything about a run; print_run_report: the same for reading.
Json run_report(Store& store, const StoredRun& run);
void print_run_report(const Json& report);

/// "12.3 MB"
std::string size_text(double bytes);

/// Tables that a finished experiment shows this run in, as {"experiment", "table", "scale"}.
std::vector<Json> experiments_with(Store& store, const std::string& run_id);

}  // namespace harness
