#pragma once

#include <filesystem>
#include <string>

namespace harness {

/// An image file as a data URI. Where both sides are at most `longest` pixels these are the file's own bytes
/// (PNG); a larger image is shrunk to `longest` and stored as JPEG of quality 85. Throws Error if the file
/// cannot be read or is no PNG.
std::string image_data_uri(const std::filesystem::path& file, int longest);

}  // namespace harness
