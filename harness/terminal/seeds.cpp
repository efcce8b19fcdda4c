#include "harness/terminal/seeds.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>

#include "core/error.h"
#include "core/text.h"

namespace harness {
namespace {

constexpr const char* kOption = "--seeds";

std::optional<std::int64_t> seed_of(std::string_view text) {
  return parse_number<std::uint32_t>(text);
}

struct SeedRange {
  std::int64_t first, last;
};

/// "42", "42..44" or "42-44"; nothing for another text.
std::optional<SeedRange> range_of(std::string_view text) {
  for (const std::string_view mark : {"..", "-"}) {
    const auto at = text.find(mark);
    if (at == std::string_view::npos) continue;
    const auto first = seed_of(trim(text.substr(0, at))), last = seed_of(trim(text.substr(at + mark.size())));
    return first && last ? std::optional(SeedRange{*first, *last}) : std::nullopt;
  }
  const auto seed = seed_of(text);
  return seed ? std::optional(SeedRange{*seed, *seed}) : std::nullopt;
}

}  // namespace

static void require_items(const std::vector<std::string>& words, const std::string& option) {
  if (words == std::vector<std::string>{""}) throw Error("is empty", option, "give items, comma-separated");
  if (std::ranges::count(words, "") > 0)
    throw Error("an item between two commas or at the end is missing", option + " " + join(words, ","));
}

std::vector<std::string> comma_list(const std::vector<std::string>& words, const std::string& option) {
  require_items(words, option);
  for (auto word = words.begin(); word != words.end(); ++word) {
    if (std::find(words.begin(), word, *word) != word)
      throw Error(fmt::format("{} is named twice", in_quotes(*word)), option);
  }
  return words;
}

std::vector<std::int64_t> parse_seeds(const std::vector<std::string>& texts) {
  std::vector<std::int64_t> seeds;
  require_items(texts, kOption);
  for (const auto& text : texts) {
    const auto range = range_of(text);
    if (!range) {
      throw Error(
          fmt::format("{} is not a seed", in_quotes(text)), kOption,
          fmt::format("give whole numbers from 0 to {}, comma-separated, or a range: 42,43,44 or 42..44",
                      kLargestSeed));
    }
    if (range->last < range->first)
      throw Error(fmt::format("{} ends before it begins", in_quotes(text)), kOption);
    if (range->last - range->first >= static_cast<std::int64_t>(kMostSeeds - seeds.size()))
      throw Error(fmt::format("more than {} seeds", kMostSeeds), kOption, "give fewer");
    for (auto seed = range->first; seed <= range->last; ++seed) {
      if (std::find(seeds.begin(), seeds.end(), seed) != seeds.end())
        throw Error(fmt::format("seed {} is named twice", seed), kOption);
      seeds.push_back(seed);
    }
  }
  return seeds;
}

std::vector<std::int64_t> parse_looks(const std::vector<std::string>& texts) {
  constexpr const char* kLooks = "--looks";
  std::vector<std::int64_t> looks;
  for (const auto& text : comma_list(texts, kLooks)) {
    const auto look = parse_number<std::int64_t>(text);
    if (!look)
      throw Error(fmt::format("{} is not a number of runs", in_quotes(text)), kLooks,
                  "give numbers of runs, such as 3,5,8");
    looks.push_back(*look);
  }
  return looks;
}

}  // namespace harness
