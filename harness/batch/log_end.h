#pragma once

#include <cstdint>
#include <filesystem>

namespace harness {

/// Bytes of an event log up to the end of its last line: what the next attempt at its job writes begins
/// there, since it cuts off a torn line. 0 where there is no log.
std::uint64_t end_of_log(const std::filesystem::path& log);

}  // namespace harness
