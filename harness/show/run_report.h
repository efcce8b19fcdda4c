#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "core/json.h"
#include "harness/show/run_status.h"
#include "results/store/store.h"

namespace harness {

/// The run of `id` or its unique beginning. Throws Error (status 2) with the nearest, or naming several.
StoredRun find_run(Store& store, const std::string& id);

/// Where the run's folder is (run_folder_now).
std::filesystem::path folder_of(const Store& store, const StoredRun& run);

/// What has become of a run (run_state_name): of all its parts where `known`, run_states of its workspace,
/// has it; else, as of one that a finished experiment holds, of its training.
std::string live_state(Store& store, const StoredRun& run, const std::map<std::string, std::string>& known);

/// Everything about a run in this state (live_state); print_run_report: the same for reading.
Json run_report(Store& store, const StoredRun& run, const std::string& state);
void print_run_report(const Json& report);

/// "12.3 MB"
std::string size_text(double bytes);

/// Tables that a finished experiment shows this run in, as {"experiment", "table", "scale"}.
std::vector<Json> experiments_with(Store& store, const std::string& run_id);

}  // namespace harness
