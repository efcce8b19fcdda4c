#include "results/query/experiments.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/error.h"
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

std::vector<std::string> row_names(const StoredReproduction& experiment) {
  auto rows = experiment.methods;
  const bool has_base =
      experiment.spec.value("kind", "") != "training" && experiment.spec.value("starting_weights", true);
  if (has_base) rows.insert(rows.begin(), "base");
  return rows;
}

int misfits(const StoredReproduction& record, const ExperimentFilter& filter) {
  const auto differs = [](const std::string& wanted, const std::string& own) {
    return !wanted.empty() && wanted != own ? 1 : 0;
  };
  const auto lacks = [&](const std::string& row) {
    return std::ranges::count(record.runs, row, &std::pair<std::string, std::string>::second) == 0;
  };
  return differs(filter.table, record.table_id) + differs(filter.backbone, record.backbone) +
         differs(filter.scale, record.scale) + differs(filter.prompts, prompts_of(record)) +
         (filter.experiment && record.id != *filter.experiment ? 1 : 0) +
         (!filter.seeds.empty() && record.seeds != filter.seeds ? 1 : 0) +
         (std::ranges::any_of(filter.rows, lacks) ? 1 : 0);
}

const StoredReproduction* last_that_fits(const std::vector<StoredReproduction>& records,
                                         const ExperimentFilter& filter,
                                         const std::function<bool(const StoredReproduction&)>& also) {
  const auto found = std::ranges::find_if(
      records, [&](const auto& record) { return misfits(record, filter) == 0 && also(record); });
  return found == records.end() ? nullptr : &*found;
}

std::string stand_in(const StoredReproduction& experiment, const std::string& metric) {
  const auto path = Json::json_pointer("/backbones") / experiment.backbone / "stands_in" / metric;
  return experiment.spec.contains(path) ? experiment.spec.at(path).get<std::string>() : "";
}

void require_measured(const StoredReproduction& experiment, const std::string& metric,
                      const std::string& where, const std::string& option) {
  const auto other = stand_in(experiment, metric);
  if (other.empty()) return;
  throw Error(fmt::format("{} replaces {} in experiment {} (backbone {})", other, metric, experiment.id,
                          experiment.backbone),
              where, fmt::format("give {} {}", option, other));
}

}  // namespace harness
