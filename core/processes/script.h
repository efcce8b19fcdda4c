#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace harness {

/// Why the system cannot run this program where its first line is at fault, with what mends it; nothing for a
/// program without such a line, or with a good one.
std::optional<std::string> fault_of_script(const std::filesystem::path& program);

}  // namespace harness
