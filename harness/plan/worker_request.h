#pragma once

#include <filesystem>
#include <string>

#include "core/json.h"

namespace harness {

/// harness-worker next to this program, or $HARNESS_WORKER.
std::filesystem::path worker_program();

/// Cores that this process may use.
int core_count();

/// Becomes `harness-worker COMMAND --request FILE`, FILE holding the request: signals, streams and the exit
/// status are the worker's. Throws Error (Status::kFailed) if it cannot be started.
[[noreturn]] void become_worker(const std::string& command, const Json& request);

/// Runs the same and returns the JSON that it prints. Throws the Error that it reports under "error", and
/// one (Status::kFailed) if it prints none.
Json ask_worker(const std::string& command, const Json& request);

}  // namespace harness
