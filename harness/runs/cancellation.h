#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "harness/workspace/workspace.h"

namespace harness {

/// A job that was taken out of a batch system's queue, or asked to save and exit.
struct Cancelled {
  std::string job, name;         ///< in that system
  std::filesystem::path folder;  ///< of the job, or of the workspace whose command waited to go on
  bool was_waiting = false;
};

/// Ends the batch jobs of these runs, or of the whole workspace where none is named: the jobs that their
/// folders note, and no other. In a whole workspace the command that works there is asked to stop first
/// (ask_to_stop). Throws Error where a batch system that has jobs of it does not answer.
std::vector<Cancelled> cancel_jobs(const Workspace& workspace, const std::vector<std::string>& runs);

}  // namespace harness
