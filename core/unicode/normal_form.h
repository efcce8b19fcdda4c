#pragma once

#include <string>
#include <string_view>

namespace harness {

/// The text in Unicode's normal form C: "e" and a combining accent become "é". Throws Error where it is not
/// UTF-8.
std::string to_nfc(std::string_view text);

/// In normal form C and case folded. Throws Error where the text is not UTF-8.
std::string case_folded(std::string_view text);

/// What texts that people take for the same have in common: normal form C, case folded, every run of white
/// space one blank and none at the ends, without characters that cannot be seen (U+200B, U+00AD). Throws
/// Error where the text is not UTF-8.
std::string folded_text(std::string_view text);

}  // namespace harness
