#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "core/event_log.h"
#include "harness/checks/check.h"
#include "results/store/rows.h"

namespace harness {
namespace fs = std::filesystem;
namespace {

JobLog read_log(const fs::path& file) {
  JobLog log;
  if (!fs::exists(file)) {
    log.problem = "is not there";
    return log;
  }
  try {
    Events events(file);
    for (auto& event : events) {
      log.size = events.mark().bytes;
      log.events.push_back(std::move(event));
    }
  } catch (const Error& error) {
    log.problem = error.problem();
  }
  return log;
}

}  // namespace

bool CheckedRun::is_base() const {
  return run.method == kBaseMethod;
}

CheckedExperiment::CheckedExperiment(Store& opened, Experiment chosen)
    : Experiment(std::move(chosen)), store(opened) {
  for (const auto& [run_id, arm] : Experiment::runs) {
    if (const auto stored = store.run(run_id)) {
      runs.push_back({.run = *stored, .arm = arm, .folder = stored->folder});
    } else {
      missing.push_back(fmt::format("run {} ({})", run_id, arm));
    }
  }
  const auto rank = [&](const CheckedRun& run) {
    return std::tuple(!run.is_base(), std::ranges::find(methods, run.arm) - methods.begin(), run.run.seed);
  };
  std::ranges::sort(runs, {}, rank);
  // Files lie beside the DB, so that a workspace can be moved and copied; where no run does, the DB lies
  // elsewhere, and they are where they were recorded.
  const auto beside = [&](const CheckedRun& run) { return store.path().parent_path() / run.run.id; };
  if (std::ranges::any_of(runs, [&](const CheckedRun& run) { return fs::exists(beside(run)); })) {
    for (auto& run : runs) run.folder = beside(run);
  }
  auto ids = Experiment::evaluations;
  for (const auto& checked : runs) {
    for (auto& evaluation : store.evaluations(checked.run.id)) {
      if (std::erase(ids, evaluation.id) == 0) continue;
      const auto folder = checked.folder / fs::path(evaluation.folder).filename();
      evaluations.push_back({.evaluation = std::move(evaluation), .folder = folder});
    }
  }
  for (const auto& left : ids) missing.push_back("evaluation " + left);
}

const CheckedRun* CheckedExperiment::run(const std::string& run_id) const {
  const auto found = std::ranges::find(runs, run_id, [](const CheckedRun& r) { return r.run.id; });
  return found == runs.end() ? nullptr : &*found;
}

std::vector<const CheckedEvaluation*> CheckedExperiment::evaluations_of(const std::string& run_id,
                                                                        const std::string& split) const {
  std::vector<const CheckedEvaluation*> found;
  for (const auto& checked : evaluations) {
    if (checked.evaluation.run_id == run_id && checked.evaluation.split == split) found.push_back(&checked);
  }
  return found;
}

const JobLog& CheckedExperiment::log(const fs::path& folder) const {
  const auto known = logs_.find(folder);
  if (known != logs_.end()) return known->second;
  return logs_[folder] = read_log(folder / "events.log");
}

std::string CheckedExperiment::name(const CheckedRun& run) {
  return fmt::format("{} (seed {})", run.arm, run.run.seed);
}

std::string CheckedExperiment::name(const CheckedEvaluation& checked) const {
  const auto& evaluation = checked.evaluation;
  const auto* of = run(evaluation.run_id);
  return fmt::format("{} on {} at {}", of == nullptr ? evaluation.run_id : name(*of), evaluation.split,
                     evaluation.step);
}

}  // namespace harness
