#pragma once

#include <exception>
#include <optional>
#include <string>

#include "core/error.h"

namespace harness {

/// An error with advice if the exception is one of the device's or the machine's memory; else empty.
std::optional<Error> out_of_memory_error(const std::exception& error, const std::string& device);

}  // namespace harness
