#pragma once

#include <filesystem>
#include <string>

#include "core/json.h"

namespace harness {

/// harness-worker beside this program, or $HARNESS_WORKER.
std::filesystem::path worker_program();

/// Cores that this process may use.
int core_count();

/// Becomes `harness-worker COMMAND --request FILE`, FILE holding the request: signals, streams and the exit
/// status are the worker's. Returns only by throwing Error (Status::kFailed), if the worker cannot be
/// started.
[[noreturn]] void become_worker(const std::string& command, const Json& request);

/// Runs `harness-worker COMMAND --request FILE` and returns the JSON document that it prints. Throws Error
/// (Status::kFailed) if it prints none.
Json ask_worker(const std::string& command, const Json& request);

/// The backbone whose pipeline a model folder says it holds; the default one for no folder. Throws Error
/// (status 2) for a folder of none that this build knows.
std::string backbone_of_folder(const std::string& folder);

/// The model folder to use: the chosen one, or the backbone's own. Throws Error (status 2) for an unknown
/// backbone or no weights.
std::filesystem::path default_weights(const std::string& backbone, const std::string& chosen);

}  // namespace harness
