#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "harness/checks/check.h"
#include "harness/runs/rebuild.h"

namespace harness {
namespace fs = std::filesystem;

const Json& WorkspaceCheck::result() const {
  if (result_.is_null()) result_ = check_database(workspace_, false);
  return result_;
}

CheckedExperiment::CheckedExperiment(Store& opened, Experiment chosen, const WorkspaceCheck& checked)
    : Experiment(std::move(chosen)), store(opened), workspace(checked) {
  for (const auto& [run_id, arm] : Experiment::runs) {
    if (auto stored = store.run(run_id)) {
      auto name = fmt::format("{} (seed {})", arm, stored->seed);
      stored->arm = arm;
      runs.push_back({*stored, stored->folder, std::move(name)});
    } else {
      missing.push_back(fmt::format("run {} ({})", run_id, arm));
    }
  }
  const auto rank = [&](const CheckedRun& run) {
    return std::tuple(!run.traits().is_start, std::ranges::find(methods, run.arm) - methods.begin(),
                      run.seed);
  };
  std::ranges::sort(runs, {}, rank);
  // Files lie next to the DB, so that a workspace can be moved and copied; where no run does, the DB lies
  // elsewhere, and they are where they were recorded.
  const auto beside = [&](const CheckedRun& run) { return store.path().parent_path() / run.id; };
  if (std::ranges::any_of(runs, [&](const CheckedRun& run) { return fs::exists(beside(run)); })) {
    for (auto& run : runs) run.place = beside(run);
  }
  auto ids = Experiment::evaluations;
  for (const auto& run : runs) {
    for (auto& e : store.evaluations(run.id)) {
      if (std::erase(ids, e.id) == 0) continue;
      auto place = run.place / fs::path(e.folder).filename();
      auto name = fmt::format("{} on {} at {}", run.name, e.split, e.step);
      evaluations.push_back({std::move(e), std::move(place), std::move(name)});
    }
  }
  for (const auto& left : ids) missing.push_back("evaluation " + left);
}

std::vector<const CheckedEvaluation*> CheckedExperiment::evaluations_of(const std::string& run_id,
                                                                        const std::string& split) const {
  std::vector<const CheckedEvaluation*> found;
  for (const auto& e : evaluations) {
    if (e.run_id == run_id && e.split == split) found.push_back(&e);
  }
  return found;
}

}  // namespace harness
