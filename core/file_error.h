#pragma once

#include <filesystem>
#include <string>

#include "core/error.h"

namespace harness {

/// What to look at where the system refuses access to a path: "check its permissions and owner (`ls -ld X`)".
std::string permissions_hint(const std::filesystem::path& path);

/// The error of a system call on a path. `reason`: errno, which chooses what to do about it: permissions,
/// free space, another name, or else the disk.
Error file_error(const std::string& action, const std::filesystem::path& path, int reason);

}  // namespace harness
