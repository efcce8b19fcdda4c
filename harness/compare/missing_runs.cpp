#include "harness/compare/missing_runs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>

#include "core/text.h"
#include "harness/plan/worker_request.h"
#include "harness/run/estimate.h"
#include "harness/terminal/progress.h"
#include "results/statistics/crossed.h"
#include "results/store/rows.h"

namespace harness {
namespace {

/// Those of the experiment, and the numbers after its last one.
std::vector<std::int64_t> enough_seeds(std::vector<std::int64_t> seeds) {
  while (static_cast<std::int64_t>(seeds.size()) < kFewestRuns)
    seeds.push_back(seeds.empty() ? 42 : *std::ranges::max_element(seeds) + 1);
  return seeds;
}

/// As its runs were made.
Measurement measurement_of(Store& store, const Experiment& experiment) {
  constexpr auto kSql = R"sql(
    SELECT ifnull(json_extract(config, '$.weights_sha256'), ''), ifnull(json_extract(config, '$.device'), 'cpu')
    FROM runs WHERE id IN (SELECT run_id FROM reproduction_runs WHERE reproduction_id = ?1) ORDER BY id LIMIT 1)sql";
  Measurement of{.backbone = experiment.backbone, .weights_sha256 = {}};
  for (const auto& [weights, device] : rows_of<std::string, std::string>(store, kSql, experiment.id)) {
    of.weights_sha256 = weights;
    of.device = device;
  }
  return of;
}

/// Seconds of one training run with its evaluations, on one worker after another.
double seconds_of_a_run(Store& store, const Experiment& experiment) {
  const auto rates =
      measured_rates(&store, measurement_of(store, experiment), {.threads = core_count()}, Json::object());
  const auto& effective = experiment.effective;
  double images = 0, starts = 1;
  if (!experiment.is_training()) {
    starts += static_cast<double>(effective.checkpoints.size()) + 1;
    const auto validation = static_cast<double>(effective.split_sizes.at(0));
    images = validation * static_cast<double>(effective.checkpoints.size()) +
             static_cast<double>(effective.split_sizes.at(1));
  }
  return training_images(effective.settings) / rates.train_images_per_second +
         images / rates.evaluate_images_per_second + starts * rates.start_seconds;
}

/// How an experiment was made, but for what single rows change: the noise between runs may depend on it.
Json conditions_of(const Experiment& experiment) {
  const auto& spec = experiment.table;
  Json conditions = {{"backbone", experiment.backbone},
                     {"scale", experiment.scale},
                     {"task", spec.task},
                     {"split", text_of(spec.split)},
                     {"selection", {spec.selection.split, spec.selection.metric, spec.selection.rule}}};
  const Json effective = experiment.effective.to_json();
  for (const char* key :
       {"prompt_set", "split_sizes", "checkpoints", "weights_sha256", "settings", "evaluation_settings"})
    conditions[key] = effective.at(key);
  return conditions;
}

/// Another experiment of the same table, rows and settings that has enough runs.
std::optional<Experiment> larger_experiment(Store& store, const Experiment& experiment) {
  const auto conditions = conditions_of(experiment);
  const auto records = store.reproductions();
  const auto* found = last_that_fits(records, {.table = experiment.table_id}, [&](const auto& record) {
    if (record.id == experiment.id || record.methods != experiment.methods ||
        std::ssize(record.seeds) < kFewestRuns)
      return false;
    const Experiment other(record);
    return other.effective.method_settings == experiment.effective.method_settings &&
           conditions_of(other) == conditions;
  });
  return found == nullptr ? std::nullopt : std::make_optional<Experiment>(*found);
}

}  // namespace

std::string missing_runs(Store& store, const Experiment& experiment, std::int64_t runs) {
  if (const auto larger = larger_experiment(store, experiment)) {
    return fmt::format("experiment {} of this table has {}: --experiment {}", larger->id,
                       counted(static_cast<std::int64_t>(larger->seeds.size()), "training run"), larger->id);
  }
  if (!draws_images(experiment.backbone))
    return fmt::format("give `harness score` the images of further runs of each row: {}",
                       experiment.more_runs());
  const auto seeds = enough_seeds(experiment.seeds);
  const auto trainings = (kFewestRuns - runs) * static_cast<std::int64_t>(experiment.methods.size());
  auto command =
      fmt::format("harness reproduce --table {} --seeds {}", experiment.table_id, fmt::join(seeds, ","));
  if (experiment.scale != "default") command += " --scale " + experiment.scale;
  if (experiment.backbone != experiment.table.backbone) command += " --backbone " + experiment.backbone;
  return fmt::format(
      "`{}` makes what is missing: {} with their evaluations, about {} at the pace of this machine's runs",
      command, counted(trainings, "training run"),
      duration_text(static_cast<double>(trainings) * seconds_of_a_run(store, experiment)));
}

}  // namespace harness
