#include "results/store/seeds.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace harness {

std::string seeds_in_words(const std::vector<std::int64_t>& seeds) {
  if (seeds.size() == 1) return fmt::format("seed {}", seeds.front());
  const auto is_gap = [](std::int64_t a, std::int64_t b) { return b != a + 1; };
  if (seeds.size() > 2 && std::ranges::adjacent_find(seeds, is_gap) == seeds.end())
    return fmt::format("seeds {} to {}", seeds.front(), seeds.back());
  return fmt::format("seeds {}", fmt::join(seeds, ", "));
}

}  // namespace harness
