#include "harness/run/left_jobs.h"

#include <fmt/format.h>

#include <chrono>
#include <filesystem>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/event_log.h"
#include "harness/slurm/queue.h"
#include "harness/slurm/submission.h"

namespace harness {
namespace fs = std::filesystem;
namespace {

/// The folders of a plan's runs, and those of their evaluations, that are there.
std::vector<fs::path> job_folders(const Plan& plan) {
  std::vector<fs::path> folders;
  for (const auto& run : plan.runs) {
    if (!fs::is_directory(run.job.folder)) continue;
    folders.push_back(run.job.folder);
    for (const auto& entry : fs::directory_iterator(run.job.folder)) {
      if (entry.is_directory()) folders.push_back(entry.path());
    }
  }
  return folders;
}

}  // namespace

void require_none_with_slurm(const Plan& plan) {
  std::optional<SlurmQueue> queue;
  for (const auto& folder : job_folders(plan)) {
    const auto submission = read_submission(folder);
    if (!submission) continue;
    try {
      if (!queue) queue.emplace().read();
    } catch (const Error&) {
      return;  // no Slurm here: whoever asked it knows
    }
    const auto* job = queue->find(submission->job);
    if (job == nullptr || job->name != submission->name || !job->is_alive()) continue;
    throw Error(fmt::format("Slurm has a job that works on this: {}", job->text()), folder.string(),
                fmt::format("go on with --executor slurm, or end its jobs with `harness runs cancel{}`",
                            plan.workspace.options));
  }
}

void require_none_to_adopt(const Plan& plan) {
  std::optional<SlurmQueue> queue;
  for (const auto& folder : job_folders(plan)) {
    const auto submission = read_submission(folder);
    if (!submission) continue;
    if (!queue) queue.emplace().read();
    const auto* job = queue->find_living(submission->name);
    if (job == nullptr) continue;
    throw Error(
        fmt::format("Slurm has a job that works on this: {}", job->text()), folder.string(),
        fmt::format("end its jobs with `harness runs cancel{}`, and repeat the command once they have "
                    "ended; without --fresh it goes on with them",
                    plan.workspace.options));
  }
}

void wait_for_left_workers(const Plan& plan, const std::function<void(const std::string&)>& say) {
  constexpr auto kPatience = std::chrono::seconds(60);
  const auto begin = std::chrono::steady_clock::now();
  bool said = false;
  for (const auto& folder : job_folders(plan)) {
    const auto log = folder / kEventLog;
    while (fs::exists(log) && event_log_is_held(log)) {
      if (!std::exchange(said, true)) say("waiting for a worker of an earlier run to end");
      if (std::chrono::steady_clock::now() - begin > kPatience) {
        throw Error("a worker of an earlier run still writes here", log.string(),
                    "end it, then repeat the command", Status::kFailed);
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
  }
}

}  // namespace harness
