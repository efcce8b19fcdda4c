#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace harness {

/// Seeds as typed on the command line: distinct whole numbers of 32 bits, since noise addresses hold no more.
/// Throws Error (where: "--seeds") for anything else.
std::vector<std::int64_t> parse_seeds(const std::vector<std::string>& texts);

}  // namespace harness
