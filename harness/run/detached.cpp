#include "harness/run/detached.h"

#include <fmt/format.h>

#include <algorithm>
#include <thread>
#include <utility>

#include "core/error.h"
#include "core/event_log.h"
#include "core/files.h"
#include "core/json.h"
#include "core/text.h"
#include "harness/batch/submission.h"
#include "harness/run/job_failure.h"

namespace harness {
namespace fs = std::filesystem;
namespace {

using Clock = std::chrono::steady_clock;

/// A network file system may show the end of a log later than a batch system the end of its job; of a job
/// that failed nothing more is to come.
constexpr std::chrono::seconds kLogPatience{60}, kFailedLogPatience{1};

fs::path whole(const fs::path& path) {
  return fs::absolute(path).lexically_normal();
}

/// Of all commands of a workspace, by which `status` and `runs cancel` find it.
std::string continuation_name(const Workspace& workspace) {
  return batch_job_name("goes-on", whole(workspace.folder));
}

fs::path note_of(const Workspace& workspace) {
  return whole(workspace.folder / "continue.json");
}

fs::path script_of(const Workspace& workspace) {
  return whole(workspace.folder / "continue.sh");
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

bool completes_by(Clock::time_point until, const Task& task, const SchedulerHooks& hooks) {
  while (true) {
    hooks.ingest(task);
    if (hooks.complete(task)) return true;
    if (Clock::now() >= until) return false;
    std::this_thread::sleep_for(std::chrono::seconds(1));
  }
}

/// Why a job that a continuation waited for has ended without completing; recorded where its worker reported
/// nothing. `job`: its entry in the queue.
Error failure_of(const Task& task, const fs::path& folder, const Submission& before, const QueuedJob* job,
                 const SchedulerHooks& hooks) {
  const auto end = before.batch->end_of(before.job, job);
  if (const auto reported = reported_failure(task, end.status, before.log_begin)) return *reported;
  const bool was_stopped = fs::exists(folder / kStopMarker);
  const auto what = fmt::format("{} ({})", was_stopped ? "was told to stop, and saved what it had" : end.text,
                                before.batch->job_text(before.job));
  hooks.failed(task, what);
  return death_of(task, what, folder / kWorkerLog);
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

Detached::Detached(const DealingOptions& dealing, const Workspace& workspace)
    : batch_(*dealing.batch),
      workspace_(workspace),
      arguments_(dealing.arguments),
      name_(continuation_name(workspace)),
      queue_(batch_) {}

void Detached::require_no_other(const std::set<std::string>& wanted) {
  queue_.read();
  const auto* other = queue_.find_living(name_);
  if (other == nullptr) return;
  const auto noted = noted_continuation(workspace_);
  if (noted && std::ranges::includes(wanted, noted->wanted)) return;
  throw Error(
      fmt::format("a job of {} already continues another command in this workspace, {}: {}",
                  batch_.names.name, other->text(), noted ? noted->command : "continue.sh"),
      "--detach",
      fmt::format("repeat this command once that table is done, choose another folder with --out, or end "
                  "that one's jobs with `harness runs cancel{}`",
                  workspace_.options));
}

void Detached::hand_over(PlanRunner& runner, const fs::path& worker,
                         const BatchExecutor::RequestOf& request_of, const SchedulerHooks& hooks) {
  queue_.read_patiently();
  while (const auto task = next_task(runner)) {
    const auto request = request_of(*task);
    const auto before = read_submission(request.folder);
    const auto is_at_work = [&] { return queue_.find_living(before->name) != nullptr; };
    if (!is_continuation() || !before || is_at_work()) {
      hand_over(*task, request, worker);
      continue;
    }
    const auto* job = queue_.find(before->job);
    const bool may_be_done = job == nullptr || job->phase == QueuedJob::Phase::kCompleted ||
                             job->phase == QueuedJob::Phase::kEnding;
    const auto until = begin_ + (may_be_done ? kLogPatience : kFailedLogPatience);
    if (completes_by(until, *task, hooks)) continue;
    queue_.read_patiently();
    if (is_at_work()) {  // it was going back to the queue
      hand_over(*task, request, worker);
      continue;
    }
    failures_.push_back(failure_of(*task, request.folder, *before, queue_.find(before->job), hooks));
  }
}

/// A run whose selection is refused keeps no other one from going on.
std::optional<Task> Detached::next_task(PlanRunner& runner) {
  for (;;) {
    try {
      return runner.next();
    } catch (const SelectionRefused& refused) {
      failures_.emplace_back(refused);
    }
  }
}

void Detached::hand_over(const Task& task, const JobRequest& request, const fs::path& worker) {
  const bool is_new = queue_.find_living(batch_job_name(request.id, request.folder)) == nullptr;
  Submitted answer;
  for (const auto until = Clock::now() + kBatchPatience; !is_new || !is_full_;) {
    if (const auto submission = submit_or_adopt(batch_, request, worker, queue_, answer)) {
      jobs_.push_back(submission->job);
      if (is_new) newest_ = NewJob{.id = submission->job, .folder = request.folder};
      return;
    }
    if (answer.is_full && !jobs_.empty()) {
      is_full_ = true;
      break;
    }
    if (Clock::now() > until) throw Error(answer.why, task.label, "repeat the command", Status::kFailed);
    std::this_thread::sleep_for(queue_.interval());
    queue_.read_patiently();
  }
  forget_submission(request.folder);  // of an attempt before, for which nothing waits
}

bool Detached::make_room() {
  if (!newest_ || jobs_.size() < 2) return false;
  batch_.cancel(newest_->id);
  forget_submission(newest_->folder);
  std::erase(jobs_, newest_->id);
  newest_.reset();
  is_full_ = true;
  return true;
}

std::string Detached::leave_again() {
  const auto script = script_of(workspace_);
  for (const auto until = Clock::now() + kBatchPatience;;) {
    auto words = options();
    words.push_back(batch_.start_option(jobs_));
    const auto answer = batch_.submit(script, words);
    if (answer.job) {
      write_submission(whole(workspace_.folder), {.batch = &batch_, .job = *answer.job, .name = name_});
      return *answer.job;
    }
    if (answer.is_full && make_room()) continue;
    if (Clock::now() > until) throw Error(answer.why, script.string(), "repeat the command", Status::kFailed);
    std::this_thread::sleep_for(queue_.interval());
  }
}

std::string Detached::leave(const Continuation& continuation) {
  queue_.read_patiently();
  const auto* before = queue_.find_living(name_);
  if (before != nullptr && before->is_waiting()) {
    const auto noted = noted_continuation(workspace_);
    const bool does_it_all = noted && std::ranges::includes(noted->wanted, continuation.wanted);
    if (is_continuation() && does_it_all) return before->id;
    // It would go on with what another command asked for.
    batch_.cancel(before->id);
  }
  write_file_atomically(script_of(workspace_),
                        fmt::format("{}# Written by harness reproduce --detach\n"
                                    "export {}=1\ncd {} || exit\nexec {}\n",
                                    batch_.script_head({arguments_}), kContinues,
                                    shell_word(fs::current_path().string()), continuation.command));
  const Json note = {{"command", continuation.command}, {"wanted", continuation.wanted}};
  write_file_atomically(note_of(workspace_), note.dump(1) + "\n");
  return leave_again();
}

std::vector<std::string> Detached::options() const {
  return batch_.continuation_options(name_, whole(workspace_.folder / "continue.log"), arguments_);
}

}  // namespace harness
