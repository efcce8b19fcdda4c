#include "harness/more_runs.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <thread>

#include "core/text.h"
#include "harness/estimate.h"
#include "harness/progress.h"
#include "harness/yardstick.h"
#include "results/crossed.h"

namespace harness {
namespace {

/// Those of the experiment, and the numbers after its last one.
std::vector<std::int64_t> enough_seeds(std::vector<std::int64_t> seeds) {
  while (static_cast<std::int64_t>(seeds.size()) < kFewestRuns)
    seeds.push_back(seeds.empty() ? 42 : *std::ranges::max_element(seeds) + 1);
  return seeds;
}

/// Seconds of one training run with its evaluations, on one worker after another.
double seconds_of_a_run(Store& store, const StoredReproduction& reproduction) {
  const auto threads = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  const auto rates = measured_rates(&store, reproduction.backbone, threads, Json::object());
  const Json& effective = reproduction.spec.at("effective");
  double images = 0;
  if (!spec_of(reproduction).is_training()) {
    const auto sizes = effective.at("split_sizes").get<std::vector<double>>();
    images = sizes.at(0) * static_cast<double>(effective.at("checkpoints").size()) + sizes.at(1);
  }
  return training_images(effective.at("settings")) / rates.train_images_per_second +
         images / rates.evaluate_images_per_second;
}

/// Another experiment of the same table, rows and settings that has enough runs.
std::optional<StoredReproduction> larger_experiment(Store& store, const StoredReproduction& reproduction) {
  const auto rows_of = [](const StoredReproduction& of) {
    return of.spec.at("effective").value("method_settings", Json());
  };
  const auto conditions = conditions_of(reproduction);
  for (const auto& other : all_reproductions(store)) {
    if (other.id != reproduction.id && other.table_id == reproduction.table_id &&
        other.methods == reproduction.methods && rows_of(other) == rows_of(reproduction) &&
        static_cast<std::int64_t>(other.seeds.size()) >= kFewestRuns && conditions_of(other) == conditions)
      return other;
  }
  return std::nullopt;
}

}  // namespace

std::string missing_runs(Store& store, const StoredReproduction& reproduction, std::int64_t runs) {
  if (runs >= kFewestRuns) return {};
  if (const auto larger = larger_experiment(store, reproduction)) {
    return fmt::format("experiment {} of this table has {}: --experiment {}", larger->id,
                       counted(static_cast<std::int64_t>(larger->seeds.size()), "training run"), larger->id);
  }
  const auto seeds = enough_seeds(reproduction.seeds);
  const auto trainings = (kFewestRuns - runs) * static_cast<std::int64_t>(reproduction.methods.size());
  auto command =
      fmt::format("harness reproduce --table {} --seeds {}", reproduction.table_id, fmt::join(seeds, ","));
  if (reproduction.scale != "default") command += " --scale " + reproduction.scale;
  if (reproduction.backbone != spec_of(reproduction).backbone)
    command += " --backbone " + reproduction.backbone;
  return fmt::format(
      "`{}` makes what is missing: {} with their evaluations, about {} at the pace of this machine's runs",
      command, counted(trainings, "training run"),
      duration_text(static_cast<double>(trainings) * seconds_of_a_run(store, reproduction)));
}

}  // namespace harness
