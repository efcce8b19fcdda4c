#pragma once

#include <string>
#include <vector>

#include "harness/runs/removal.h"

namespace harness {

/// Asks for `command` before runs are removed: lists them on a terminal, and reads the answer. Throws Error
/// (status 2) where nobody can answer.
bool is_removal_agreed(const std::vector<Removal>& removals, const std::string& command);

/// Asks on the terminal. Throws Error (status 2) where nobody can answer.
bool is_agreed(const std::string& command, const std::string& question);

}  // namespace harness
