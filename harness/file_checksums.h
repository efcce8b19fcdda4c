#pragma once

#include <filesystem>
#include <string>

namespace harness {

/// SHA-256 of a file. That of a large one is remembered between commands, by path, size, inode and time of
/// change, in the user's cache folder: weights of many gigabytes are read once.
std::string remembered_sha256(const std::filesystem::path& file);

}  // namespace harness
