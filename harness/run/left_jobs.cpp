#include "harness/run/left_jobs.h"

#include <fmt/format.h>

#include <chrono>
#include <filesystem>
#include <thread>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/event_log.h"
#include "harness/batch/submission.h"

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

void require_none_in_queue(const Plan& plan, bool is_fresh) {
  BatchQueues queues;
  for (const auto& folder : job_folders(plan)) {
    const auto submission = read_submission(folder);
    if (!submission) continue;
    const auto& batch = *submission->batch;
    const QueuedJob* job = nullptr;
    try {
      job = queues.of(batch).find_living(submission->name);
    } catch (const Error&) {
      if (is_fresh) throw;
      return;  // no such system here: the submitter has reported it
    }
    if (job == nullptr) continue;
    const auto& options = plan.workspace.options;
    throw Error(
        fmt::format("{} has a job that works on this: {}", batch.names.name, job->text()), folder.string(),
        is_fresh ? fmt::format("end its jobs with `harness runs cancel{}`, and repeat the command once they "
                               "have ended; without --fresh it goes on with them",
                               options)
                 : fmt::format("go on with {}, or end its jobs with `harness runs cancel{}`", batch.choice(),
                               options));
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
