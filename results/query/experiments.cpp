#include "results/query/experiments.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "results/store/journal.h"

namespace harness {

std::string in_words(const StoredReproduction& e) {
  return fmt::format("experiment {}: table {}, backbone {}, scale {}, prompts {}, {}, finished {}", e.id,
                     e.table_id, e.backbone, e.scale, prompts_of(e), seeds_in_words(e.seeds),
                     readable_time(e.finished));
}

std::string seeds_in_words(const std::vector<std::int64_t>& seeds) {
  if (seeds.size() == 1) return fmt::format("seed {}", seeds.front());
  const auto is_gap = [](std::int64_t a, std::int64_t b) { return b != a + 1; };
  if (seeds.size() > 2 && std::ranges::adjacent_find(seeds, is_gap) == seeds.end())
    return fmt::format("seeds {} to {}", seeds.front(), seeds.back());
  return fmt::format("seeds {}", fmt::join(seeds, ", "));
}

std::string prompts_of(const StoredReproduction& experiment) {
  const Json::json_pointer name("/effective/prompt_set/name");
  return experiment.spec.contains(name) ? experiment.spec.at(name).get<std::string>() : "";
}

}  // namespace harness
