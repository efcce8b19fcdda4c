#pragma once

#include <exception>
#include <optional>
#include <string>

#include "core/error.h"

namespace harness {

/// What to tell where an exception says that the memory of the device, or of the machine, is full; nothing
/// where it says something else.
std::optional<Error> memory_error(const std::exception& error, const std::string& device);

}  // namespace harness
