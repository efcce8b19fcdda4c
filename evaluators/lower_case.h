#pragma once

#include <string>
#include <string_view>

namespace harness {

/// Lower case as Python's str.lower() gives it, which the public OCR reward uses. It differs from core's
/// code-point-wise to_lower in two places: U+0130 becomes two code points, and a capital sigma at the end of
/// a word becomes U+03C2.
std::u32string python_lower(std::u32string_view text);

}  // namespace harness
