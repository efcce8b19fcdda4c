#include "results/query/experiments.h"

#include <fmt/format.h>

#include "results/store/journal.h"
#include "results/store/seeds.h"

namespace harness {

std::string in_words(const StoredReproduction& e) {
  return fmt::format("experiment {}: table {}, backbone {}, scale {}, prompts {}, {}, finished {}", e.id,
                     e.table_id, e.backbone, e.scale, prompts_of(e), seeds_in_words(e.seeds),
                     readable_time(e.finished));
}

std::string prompts_of(const StoredReproduction& experiment) {
  const Json::json_pointer name("/effective/prompt_set/name");
  return experiment.spec.contains(name) ? experiment.spec.at(name).get<std::string>() : "";
}

}  // namespace harness
