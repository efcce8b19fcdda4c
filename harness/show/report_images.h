#pragma once

#include <filesystem>
#include <string>

namespace harness {

/// An image that was scored as a data URI. Where both sides are at most `longest` pixels these are the file's
/// own bytes (PNG); a larger image is shrunk to `longest` and stored as JPEG of quality 85. Throws Error if
/// the file cannot be read, has another checksum or is no PNG, or if it would be taken as it is and is larger
/// than its pixels can need (8 bytes each and 64 kB).
std::string image_data_uri(const std::filesystem::path& file, const std::string& sha256, int longest);

}  // namespace harness
