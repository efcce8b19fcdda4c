#pragma once

#include <string>

#include "core/json.h"
#include "results/store/store.h"

namespace harness {

/// Everything about a run in this state (live_state); print_run_report: the same for reading.
Json run_report(Store& store, const StoredRun& run, const std::string& state);
void print_run_report(const Json& report);

}  // namespace harness
