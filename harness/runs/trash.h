#pragma once

#include <filesystem>
#include <vector>

#include "harness/workspace/workspace.h"

namespace harness {

// OUT/.trash holds the folders of removed runs until `harness runs prune`, each as it was, under the run's
// id, or ID.2 and so on where the same run was removed before. `harness import OUT/.trash/ID` brings it back.

std::vector<std::filesystem::path> trash_of(const Workspace& workspace);

/// Renames a run's folder into the trash, and gives its place there. Throws Error (Status::kFailed).
std::filesystem::path move_to_trash(const Workspace& workspace, const std::string& run);

/// Deletes all that is in the trash. Throws Error (Status::kFailed).
void empty_trash(const Workspace& workspace);

}  // namespace harness
