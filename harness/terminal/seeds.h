#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "datasets/seed.h"

namespace harness {

/// Of one experiment.
inline constexpr std::size_t kMostSeeds = 1000;

/// Seeds as typed on the command line: distinct whole numbers from 0 to kLargestSeed, or ranges of them
/// (42..44 or 42-44, both ends included), at most kMostSeeds in all. Throws Error (where: "--seeds") for
/// anything else.
std::vector<std::int64_t> parse_seeds(const std::vector<std::string>& texts);

/// Numbers of runs as typed. Throws Error (where: "--looks") for anything else.
std::vector<std::int64_t> parse_looks(const std::vector<std::string>& texts);

/// The elements of a comma-separated option. Throws Error (where: the option) for an empty one.
std::vector<std::string> comma_list(const std::vector<std::string>& words, const std::string& option);

}  // namespace harness
