#pragma once

#include <string>

namespace harness {

/// Throws Error where the system has no font at all: text would have no size. what: that cannot be drawn.
void require_fonts(const std::string& what);

}  // namespace harness
