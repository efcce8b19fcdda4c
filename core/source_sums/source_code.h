#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace harness {

/// A C++ source without what no compiler looks at: comments are gone, and white space only remains where two
/// tokens would otherwise run together and at the ends of preprocessor lines. Two texts with the same result
/// compile to the same program; a text that was only formatted or commented again mostly has the same one.
/// String, character and raw string literals are kept byte for byte.
std::string code_of(std::string_view source);

/// The paths that a source includes in quotes, in order.
std::vector<std::string> quoted_includes(std::string_view source);

}  // namespace harness
