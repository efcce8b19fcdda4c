#pragma once

#include <filesystem>
#include <string>

namespace harness {

/// Every character that Tesseract's network can return with these data (its component lstm-unicharset), as
/// UTF-8. Throws Error for a file that is none of Tesseract's, or holds no such network.
std::string readable_characters(const std::filesystem::path& traineddata);

}  // namespace harness
