#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <utility>

#include "core/error.h"

namespace harness {

/// Seeds of runs: records hold whole numbers, and noise addresses 32 bits.
inline constexpr std::int64_t kLargestSeed = 0xFFFFFFFF;

/// A seed as noise takes it. Throws Error at `where` for a number that is none.
inline std::uint32_t noise_seed(std::int64_t seed, const std::string& where) {
  if (std::in_range<std::uint32_t>(seed)) return static_cast<std::uint32_t>(seed);
  throw Error(fmt::format("{} is not a seed", seed), where,
              fmt::format("give a whole number from 0 to {}", kLargestSeed));
}

}  // namespace harness
