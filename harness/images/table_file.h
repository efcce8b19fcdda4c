#pragma once

#include <filesystem>
#include <string>

namespace harness {

/// The text of a manifest without its byte order mark. Throws Error for UTF-16, other bytes that are not
/// UTF-8, and lines that end with a carriage return alone.
std::string read_table_text(const std::filesystem::path& file);

/// JSON as Python writes it: NaN and infinities, which JSON has no words for, become null.
std::string without_nan(std::string text);

}  // namespace harness
