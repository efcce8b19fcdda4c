#pragma once

#include <filesystem>
#include <string>

#include "core/json.h"

namespace harness {

// What an archive holds of job.json and events.log: nothing that shows where the folders of a machine are, or
// whose they are. What comes of a log is the same as of the whole one.

/// The workspace that a job was planned in, by the paths of its job.json; empty where they are an archive's.
std::filesystem::path workspace_then(const Json& paths);

/// job.json: files of the workspace are named from there, and others by their last names. Weights and models
/// of scorers inside the working folder are named from there: `harness verify` finds them again.
std::string placeless_job(const std::filesystem::path& job_file);

/// events.log without the host's name, and with last names in messages.
std::string placeless_log(const std::filesystem::path& log);

}  // namespace harness
