#include "harness/work/fresh.h"

#include <algorithm>
#include <set>

#include "core/error.h"
#include "core/text.h"

namespace harness {
namespace {

/// Whether this plan's command makes the experiment again: it has its table and rows, and rests on
/// evaluations that are the plan's.
bool makes_again(const Plan& plan, const StoredReproduction& experiment, Store& store) {
  if (experiment.table_id != plan.spec.id || experiment.backbone != plan.backbone.name ||
      experiment.scale != plan.scale.name || experiment.seeds != plan.seeds ||
      experiment.methods != plan.methods)
    return false;
  return std::ranges::all_of(experiment.evaluations, [&](const std::string& id) {
    const auto evaluation = store.evaluation(id);
    if (!evaluation) return true;
    const auto run =
        std::ranges::find(plan.runs, evaluation->run_id, [](const RunPlan& r) { return r.job.id; });
    return run != plan.runs.end() &&
           plan.evaluation(*run, static_cast<int>(evaluation->step), evaluation->split).id == id;
  });
}

}  // namespace

std::vector<Removal> removals_of_others(const std::vector<Plan>& plans, Store& store) {
  std::set<std::int64_t> own;
  for (const auto& experiment : store.reproductions()) {
    if (std::ranges::any_of(plans, [&](const Plan& plan) { return makes_again(plan, experiment, store); }))
      own.insert(experiment.id);
  }
  std::vector<Removal> removals;
  for (const auto& plan : plans) {
    for (const auto& run : plan.runs) {
      auto removal = removal_of(store, plan.workspace, run.job.id);
      std::erase_if(removal.experiments, [&](const auto& e) { return own.contains(e.number); });
      if (!removal.experiments.empty()) removals.push_back(std::move(removal));
    }
  }
  return removals;
}

void require_forced(const WorkOptions& options, const std::vector<Removal>& removals) {
  if (!options.force && !removals.empty()) throw used_error(removals, "--fresh", Status::kUsage);
}

bool is_fresh_agreed(const WorkOptions& options, const std::vector<Plan>& plans, Store& store) {
  if (!options.fresh) return true;
  const auto removals = removals_of_others(plans, store);
  require_forced(options, removals);
  return removals.empty() || options.yes || is_removal_agreed(removals, "--fresh");
}

}  // namespace harness
