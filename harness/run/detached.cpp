#include "harness/run/detached.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <thread>

#include "core/error.h"
#include "core/event_log.h"
#include "core/files.h"
#include "core/host.h"
#include "core/json.h"
#include "core/text.h"
#include "harness/run/job_failure.h"
#include "harness/slurm/command.h"
#include "harness/slurm/submission.h"

namespace harness {
namespace fs = std::filesystem;
namespace {

using Clock = std::chrono::steady_clock;

/// A network file system may show the end of a log later than Slurm the end of its job; of a job that failed
/// nothing more is to come.
constexpr std::chrono::seconds kLogPatience{60}, kFailedLogPatience{1};

fs::path whole(const fs::path& path) {
  return fs::absolute(path).lexically_normal();
}

/// Of all commands of a workspace, by which `status` and `runs cancel` find it.
std::string continuation_name(const Workspace& workspace) {
  return slurm_job_name("goes-on", whole(workspace.folder));
}

fs::path note_of(const Workspace& workspace) {
  return whole(workspace.folder / "continue.json");
}

/// The command that was left in the queue last; nothing where there is none that can be read.
std::optional<Continuation> noted_continuation(const Workspace& workspace) {
  try {
    const auto noted = read_json(note_of(workspace));
    return Continuation{.command = noted.at("command").get<std::string>(),
                        .wanted = noted.at("wanted").get<std::set<std::string>>()};
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

/// Reads the queue, and asks again for as long as Slurm may take to come back.
void read_patiently(SlurmQueue& queue) {
  for (const auto until = Clock::now() + kSlurmPatience;;) {
    try {
      return queue.read();
    } catch (const Error& error) {
      if (error.status() != Status::kFailed || Clock::now() > until) throw;
    }
    std::this_thread::sleep_for(queue.interval());
  }
}

bool completes_by(Clock::time_point until, const Task& task, const SchedulerHooks& hooks) {
  while (true) {
    hooks.ingest(task);
    if (hooks.complete(task)) return true;
    if (Clock::now() >= until) return false;
    std::this_thread::sleep_for(std::chrono::seconds(1));
  }
}

/// The job's id in Slurm; nothing where a limit is reached and there are others whose end makes room.
std::optional<std::string> submit(const Task& task, const SlurmRequest& request, const fs::path& worker,
                                  SlurmQueue& queue, bool has_others) {
  std::string why;
  for (const auto until = Clock::now() + kSlurmPatience;;) {
    if (const auto submission = submit_or_adopt(request, worker, queue, why)) return submission->job;
    if (has_others && is_submit_limit(why)) return std::nullopt;
    if (Clock::now() > until) throw Error(not_now(why), task.label, "repeat the command", Status::kFailed);
    std::this_thread::sleep_for(queue.interval());
    read_patiently(queue);
  }
}

void hand_over(const Task& task, const SlurmRequest& request, const fs::path& worker, SlurmQueue& queue,
               HandedOver& handed) {
  const bool is_new = queue.find_living(slurm_job_name(request.id, request.folder)) == nullptr;
  // Of an attempt before, nothing is waited for.
  if (is_new && handed.is_full) return forget_submission(request.folder);
  const auto job = submit(task, request, worker, queue, !handed.jobs.empty());
  if (!job) {
    handed.is_full = true;
    return forget_submission(request.folder);
  }
  handed.jobs.push_back(*job);
  if (is_new) handed.newest = HandedOver::NewJob{.id = *job, .folder = request.folder};
}

/// Why a job that a continuation waited for has ended without completing; recorded where its worker said
/// nothing. `job`: what the queue still says of it.
Error failure_of(const Task& task, const fs::path& folder, const Submission& before, const QueuedJob* job,
                 const SchedulerHooks& hooks) {
  const auto end = end_of_job(before.job, job);
  if (const auto reported = reported_failure(task, end.status, before.log_begin)) return *reported;
  const bool was_stopped = fs::exists(folder / kStopMarker);
  const auto what = fmt::format(
      "{} (job {} of Slurm)", was_stopped ? "was told to stop, and saved what it had" : end.text, before.job);
  hooks.failed(task, what);
  return death_of(task, what, folder / kWorkerLog);
}

/// A run whose selection is refused keeps no other one from going on.
std::optional<Task> next_task(PlanRunner& runner, HandedOver& handed) {
  for (;;) {
    try {
      return runner.next();
    } catch (const SelectionRefused& refused) {
      handed.failures.emplace_back(refused);
    }
  }
}

/// Gives the place of the newest job to the continuation, which asks for it again. False where there is none,
/// or nothing else to wait for.
bool make_room(HandedOver& handed) {
  if (!handed.newest || handed.jobs.size() < 2) return false;
  run_slurm({"scancel", handed.newest->id});
  forget_submission(handed.newest->folder);
  std::erase(handed.jobs, handed.newest->id);
  handed.newest.reset();
  handed.is_full = true;
  return true;
}

/// Submits the script that goes on once one of the jobs has ended, or without any in a few minutes; the id.
std::string submit_behind(HandedOver& handed, const fs::path& script, const std::vector<std::string>& options,
                          std::chrono::seconds pause) {
  std::string why;
  for (const auto until = Clock::now() + kSlurmPatience;;) {
    auto words = options;
    words.push_back(handed.jobs.empty() ? std::string("--begin=now+300")
                                        : "--dependency=afterany:" + join(handed.jobs, "?afterany:"));
    if (const auto id = submit_script(script, words, why)) return *id;
    if (is_submit_limit(why) && make_room(handed)) continue;
    if (Clock::now() > until)
      throw Error(not_now(why), script.string(), "repeat the command", Status::kFailed);
    std::this_thread::sleep_for(pause);
  }
}

std::string continuation_script(const std::string& command, const std::string& arguments) {
  const auto options = arguments.empty() ? std::string() : "#SBATCH " + arguments + "\n";
  return fmt::format(
      "#!/bin/bash\n{}# Written by harness reproduce --detach\n"
      "export {}=1\ncd {} || exit\nexec {}\n",
      options, kContinues, shell_word(fs::current_path().string()), command);
}

}  // namespace

std::set<std::string> wanted_of(const Plan& plan) {
  std::set<std::string> wanted = {fmt::format("{} at {}", plan.spec.id, plan.scale.name)};
  for (const auto& run : plan.runs) {
    wanted.insert(run.job.id);
    if (plan.spec.is_training()) continue;
    for (const auto step : run.checkpoints) {
      for (const char* split : {"validation", "test"}) wanted.insert(plan.evaluation(run, step, split).id);
    }
    if (const auto only = run.only_checkpoint()) wanted.insert(plan.evaluation(run, *only, "test").id);
  }
  return wanted;
}

std::string continuation_of(const Plan& plan) {
  const auto noted = noted_continuation(plan.workspace);
  if (noted && !std::ranges::includes(noted->wanted, wanted_of(plan))) return "";
  return continuation_name(plan.workspace);
}

void require_no_other_continuation(const Workspace& workspace, const std::set<std::string>& wanted) {
  SlurmQueue queue;
  queue.read();
  const auto* other = queue.find_living(continuation_name(workspace));
  if (other == nullptr) return;
  const auto noted = noted_continuation(workspace);
  if (noted && std::ranges::includes(wanted, noted->wanted)) return;
  throw Error(
      fmt::format("a job of Slurm goes on in this workspace with another command, {}: {}", other->text(),
                  noted ? noted->command : "continue.sh"),
      "--detach",
      fmt::format("repeat this command once that table is done, choose another folder with --out, or end "
                  "that one's jobs with `harness runs cancel{}`",
                  workspace.options));
}

void hand_to_slurm(PlanRunner& runner, const fs::path& worker, const SlurmExecutor::RequestOf& request_of,
                   const SchedulerHooks& hooks, HandedOver& handed) {
  SlurmQueue queue;
  read_patiently(queue);
  while (const auto task = next_task(runner, handed)) {
    const auto request = request_of(*task);
    const auto before = read_submission(request.folder);
    const auto is_at_work = [&] { return queue.find_living(before->name) != nullptr; };
    if (!is_continuation() || !before || is_at_work()) {
      hand_over(*task, request, worker, queue, handed);
      continue;
    }
    const auto* job = queue.find(before->job);
    const bool may_be_done = job == nullptr || job->state == "COMPLETED" || job->state == "COMPLETING";
    const auto until = handed.begin + (may_be_done ? kLogPatience : kFailedLogPatience);
    if (completes_by(until, *task, hooks)) continue;
    read_patiently(queue);
    if (is_at_work()) {  // it was going back to the queue
      hand_over(*task, request, worker, queue, handed);
      continue;
    }
    handed.failures.push_back(failure_of(*task, request.folder, *before, queue.find(before->job), hooks));
  }
}

std::vector<std::string> continuation_options(const Workspace& workspace, const std::string& arguments) {
  std::vector<std::string> options = {"--job-name=" + continuation_name(workspace),
                                      "--open-mode=append",
                                      "--output=" + slurm_pattern(whole(workspace.folder / "continue.log")),
                                      "--ntasks=1",
                                      "--cpus-per-task=1",
                                      "--time=30"};
  if (arguments.find("--mem") == std::string::npos) options.emplace_back("--mem-per-cpu=2G");
  return options;
}

std::string put_off_continuation(const Workspace& workspace, const std::string& arguments) {
  HandedOver none;
  const auto id = submit_behind(none, whole(workspace.folder / "continue.sh"),
                                continuation_options(workspace, arguments), SlurmQueue().interval());
  write_submission(whole(workspace.folder), {.job = id, .name = continuation_name(workspace)});
  return id;
}

std::string submit_continuation(const Workspace& workspace, const Continuation& continuation,
                                const std::string& arguments, HandedOver& handed) {
  SlurmQueue queue;
  read_patiently(queue);
  const auto name = continuation_name(workspace);
  const auto* before = queue.find_living(name);
  if (before != nullptr && before->is_waiting()) {
    const auto noted = noted_continuation(workspace);
    const bool does_it_all = noted && std::ranges::includes(noted->wanted, continuation.wanted);
    if (is_continuation() && does_it_all) return before->id;
    // It would go on with what another command asked for.
    run_slurm({"scancel", before->id});
  }
  const auto script = whole(workspace.folder / "continue.sh");
  write_file_atomically(script, continuation_script(continuation.command, arguments));
  const Json note = {{"command", continuation.command}, {"wanted", continuation.wanted}};
  write_file_atomically(note_of(workspace), note.dump(1) + "\n");
  const auto id = submit_behind(handed, script, continuation_options(workspace, arguments), queue.interval());
  write_submission(whole(workspace.folder), {.job = id, .name = name});
  return id;
}

}  // namespace harness
