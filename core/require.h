#pragma once

#include <stdexcept>
#include <string>

namespace harness {

/// Throws std::logic_error with file and line unless `holds`: for what only a programming mistake can break.
/// In every build; Error is for what a user can cause. (clang 14 knows no std::source_location.)
inline void require(bool holds, const char* what, const char* file = __builtin_FILE(),
                    int line = __builtin_LINE()) {
  if (!holds) throw std::logic_error(std::string(file) + ":" + std::to_string(line) + ": " + what);
}

}  // namespace harness
