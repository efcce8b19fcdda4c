#pragma once

#include <string>
#include <string_view>

namespace harness {

/// The bytes of a text file as its lines are meant: without a byte order mark at the beginning, and without
/// the carriage return before a line feed or the end. Throws Error (at `where`) for UTF-16 and UTF-32.
std::string plain_text(std::string_view bytes, const std::string& where);

}  // namespace harness
