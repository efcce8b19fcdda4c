#pragma once

#include <filesystem>
#include <string>

namespace harness {

// How paths are named in what may leave this machine: tables, figures, pages, records, archives. None of it
// tells where a user's folders are, or who the user is. Messages of a command name paths in full.

/// A path inside the folder that the command works in: relative to it ("out/base"). Any other: its last two
/// names ("run-3/images"), without those of the user and the machine. A relative path without ".." is as it
/// is.
std::string shown_path(const std::filesystem::path& path);

/// The same wherever the command works: of every absolute path, and of one with "..", its last two names.
std::string last_names(const std::filesystem::path& path);

/// A text with its absolute paths as last_names has them.
std::string with_last_names(const std::string& text);

}  // namespace harness
