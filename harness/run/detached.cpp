#include "harness/run/detached.h"

#include <fmt/format.h>

#include <chrono>
#include <optional>
#include <thread>

#include "core/error.h"
#include "core/files.h"
#include "core/host.h"
#include "core/text.h"
#include "harness/run/job_failure.h"
#include "harness/slurm/command.h"
#include "harness/slurm/submission.h"

namespace harness {
namespace fs = std::filesystem;
namespace {

constexpr const char* kContinues = "HARNESS_CONTINUATION";
constexpr std::chrono::seconds kPatience{60}, kAgain{10};

fs::path whole(const fs::path& path) {
  return fs::absolute(path).lexically_normal();
}

/// A network file system may show the end of a log later than Slurm the end of its job.
bool completes_within(std::chrono::seconds time, const Task& task, const SchedulerHooks& hooks) {
  for (auto left = time.count(); left >= 0; --left) {
    hooks.ingest(task);
    if (hooks.complete(task)) return true;
    std::this_thread::sleep_for(std::chrono::seconds(1));
  }
  return false;
}

std::string submit(const Task& task, const SlurmRequest& request, const fs::path& worker, SlurmQueue& queue) {
  constexpr int kAttempts = 30;
  std::string why;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    if (const auto submission = submit_or_adopt(request, worker, queue, why)) return submission->job;
    std::this_thread::sleep_for(kAgain);
    queue.read();
  }
  throw Error("Slurm does not answer: " + why, task.label, "repeat the command", Status::kFailed);
}

}  // namespace

bool is_continuation() {
  return is_set(kContinues);
}

std::string continuation_name(const Workspace& workspace) {
  return slurm_job_name("goes-on", whole(workspace.folder));
}

HandedOver hand_to_slurm(PlanRunner& runner, const fs::path& worker,
                         const SlurmExecutor::RequestOf& request_of, const SchedulerHooks& hooks) {
  SlurmQueue queue;
  queue.read();
  HandedOver handed;
  while (const auto task = runner.next()) {
    const auto request = request_of(*task);
    const auto before = read_submission(request.folder);
    if (!is_continuation() || !before || queue.find_living(before->name) != nullptr) {
      handed.jobs.push_back(submit(*task, request, worker, queue));
      continue;
    }
    const auto* job = queue.find(before->job);
    // Of one that failed nothing more is to come.
    const bool may_be_done = job == nullptr || job->state == "COMPLETED" || job->state == "COMPLETING";
    if (completes_within(may_be_done ? kPatience : std::chrono::seconds(1), *task, hooks)) continue;
    const auto end = end_of_job(before->job, job);
    const bool was_stopped = fs::exists(request.folder / kStopMarker);
    const auto what =
        fmt::format("{} (job {} of Slurm)",
                    was_stopped ? "was told to stop, and saved what it had" : end.text, before->job);
    const auto reported = reported_failure(*task, end.status);
    if (!reported) hooks.failed(*task, what);
    handed.failures.push_back(reported ? *reported : death_of(*task, what, request.folder / "worker.log"));
  }
  return handed;
}

std::vector<std::string> continuation_options(const Workspace& workspace, const std::string& arguments) {
  std::vector<std::string> options = {
      "--job-name=" + continuation_name(workspace),
      "--open-mode=append",
      "--output=" + shell_word(whole(workspace.folder / "continue.log").string()),
      "--ntasks=1",
      "--cpus-per-task=1",
      "--time=30"};
  if (arguments.find("--mem") == std::string::npos) options.emplace_back("--mem-per-cpu=2G");
  return options;
}

std::string submit_continuation(const Workspace& workspace, const std::string& command,
                                const std::string& arguments, const std::vector<std::string>& jobs) {
  SlurmQueue queue;
  queue.read();
  const auto name = continuation_name(workspace);
  const auto* before = queue.find_living(name);
  // It would go on with what another command asked for.
  if (before != nullptr && before->is_waiting()) run_slurm({"scancel", before->id});
  const auto script = whole(workspace.folder / "continue.sh");
  const auto options = arguments.empty() ? std::string() : "#SBATCH " + arguments + "\n";
  write_file_atomically(script,
                        fmt::format("#!/bin/bash\n{}# Written by harness reproduce --detach\n"
                                    "export {}=1\ncd {} || exit\nexec {}\n",
                                    options, kContinues, shell_word(fs::current_path().string()), command));
  std::string why;
  auto words = continuation_options(workspace, arguments);
  words.push_back("--dependency=afterany:" + join(jobs, "?afterany:"));
  for (int attempt = 0; attempt < 30; ++attempt) {
    if (const auto id = submit_script(script, words, why)) {
      write_submission(whole(workspace.folder), {.job = *id, .name = name});
      return *id;
    }
    std::this_thread::sleep_for(kAgain);
  }
  throw Error("Slurm does not answer: " + why, script.string(), "repeat the command", Status::kFailed);
}

}  // namespace harness
