#pragma once

#include <string>

namespace harness {

/// A prompt's target as a person reads it: of a GenEval record "counting: 3 star", "position: red circle left
/// of blue square"; any other as it is.
std::string shown_target(const std::string& target);

/// The tag of a GenEval record's target, "counting"; empty for any other.
std::string tag_of_target(const std::string& target);

}  // namespace harness
