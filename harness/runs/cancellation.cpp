#include "harness/runs/cancellation.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <optional>
#include <set>
#include <thread>

#include "core/error.h"
#include "harness/batch/submission.h"
#include "harness/run/stop_request.h"
#include "harness/runs/job_files.h"

namespace harness {
namespace fs = std::filesystem;
namespace {

/// Of the jobs of the runs that were named, or of all.
std::vector<fs::path> folders_of(const Workspace& workspace, const std::vector<std::string>& runs) {
  std::vector<fs::path> chosen, all;
  for (const auto& run : runs) chosen.push_back(workspace.run_folder(run));
  if (runs.empty()) chosen = entries_below(workspace.folder);
  for (const auto& folder : chosen) {
    all.push_back(folder);
    std::ranges::copy(entries_below(folder), std::back_inserter(all));
  }
  return all;
}

/// The small jobs that go on with a detached table: one may work, and the next one wait for its turn. Waits
/// until they have gone, since one that works still asks for jobs.
std::vector<Cancelled> cancel_continuations(const Workspace& workspace, BatchQueues& queues) {
  constexpr auto kPatience = std::chrono::seconds(60);
  constexpr auto kPause = std::chrono::milliseconds(300);
  std::vector<Cancelled> cancelled;
  const auto noted = read_submission(workspace.folder);
  if (!noted) return cancelled;
  const auto& batch = *noted->batch;
  auto& queue = queues.of(batch);
  std::set<std::string> told;
  const auto until = std::chrono::steady_clock::now() + kPatience;
  for (auto left = queue.living(noted->name); !left.empty(); left = queue.living(noted->name)) {
    for (const auto& job : left) {
      if (!told.insert(job.id).second) continue;
      batch.cancel(job.id);
      cancelled.push_back({job.id, job.name, workspace.folder, job.is_waiting()});
    }
    if (std::chrono::steady_clock::now() > until) {
      throw Error(fmt::format("{}, which asks for more, has not ended a minute after {}",
                              batch.job_text(left.front().id), batch.names.cancel),
                  workspace.folder.string(), "repeat the command once it has", Status::kFailed);
    }
    std::this_thread::sleep_for(kPause);
    queue.read();
  }
  return cancelled;
}

}  // namespace

std::vector<Cancelled> cancel_jobs(const Workspace& workspace, const std::vector<std::string>& runs) {
  if (!fs::is_directory(workspace.folder))
    throw Error("there is no workspace", workspace.folder.string(), "name the folder with --out");
  if (runs.empty()) ask_to_stop(workspace);
  const auto folders = folders_of(workspace, runs);
  BatchQueues queues;
  auto cancelled = runs.empty() ? cancel_continuations(workspace, queues) : std::vector<Cancelled>();
  std::optional<Error> failure;  // a failed request does not keep others running
  for (const auto& folder : folders) {
    const auto noted = read_submission(folder);
    if (!noted) continue;
    for (const auto& job : queues.of(*noted->batch).living(noted->name)) {
      try {
        cancel_submission(folder, *noted->batch, job.id);
        cancelled.push_back({job.id, job.name, folder, job.is_waiting()});
      } catch (const Error& error) {
        if (!failure) failure = error;
      }
    }
  }
  if (failure) throw Error(*failure);
  return cancelled;
}

}  // namespace harness
