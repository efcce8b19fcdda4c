#pragma once

#include <string>
#include <vector>

namespace harness {

/// The words of a comma-separated option as CLI11 splits them, without the blanks around them. Throws Error
/// (where: the option) for an empty one.
std::vector<std::string> comma_list(const std::vector<std::string>& words, const std::string& option);

}  // namespace harness
