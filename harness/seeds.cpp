#include "harness/seeds.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>

#include "core/error.h"

namespace harness {

std::vector<std::int64_t> parse_seeds(const std::vector<std::string>& texts) {
  std::vector<std::int64_t> seeds;
  for (const auto& text : texts) {
    std::uint32_t seed = 0;
    const char* end = text.data() + text.size();
    const auto [at, error] = std::from_chars(text.data(), end, seed);
    if (error != std::errc() || at != end) {
      throw Error(fmt::format("\"{}\" is no seed", text), "--seeds",
                  fmt::format("give whole numbers from 0 to {}, by comma",
                              std::numeric_limits<std::uint32_t>::max()));
    }
    if (std::find(seeds.begin(), seeds.end(), seed) != seeds.end())
      throw Error(fmt::format("seed {} is named twice", seed), "--seeds");
    seeds.push_back(seed);
  }
  return seeds;
}

}  // namespace harness
