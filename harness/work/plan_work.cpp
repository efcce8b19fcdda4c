#include "harness/work/plan_work.h"

#include <fmt/format.h>

#include <map>

#include "core/error.h"
#include "core/files.h"
#include "core/host.h"
#include "core/text.h"
#include "harness/plan/worker_request.h"
#include "harness/run/estimate.h"
#include "harness/run/executor.h"
#include "harness/run/scheduler.h"

namespace harness {

void check_work(WorkOptions& options) {
  auto& dealing = options.dealing;
  check_dealing(dealing);
  if (options.detach && dealing.batch == nullptr)
    throw Error("is for batch jobs of " + batch_names(), "--detach", "add --executor " + batch_executors());
  if (!options.fresh && (options.force || options.yes))
    throw Error("is for --fresh", options.force ? "--force" : "--yes", "leave it out, or add --fresh");
  if (options.detach && dealing.jobs)
    throw Error(
        "is not for --detach", "--jobs",
        fmt::format("leave it out: {} decides how many jobs run at a time", dealing.batch->names.name));
}

std::string resume_command() {
  std::string command;
  auto words = split(read_file("/proc/self/cmdline"), '\0');
  if (!words.empty() && words.back().empty()) words.pop_back();  // after the last \0
  for (const auto& word : words) {
    if (word == "--fresh" || word == "--force" || word == "--yes") continue;
    command += (command.empty() ? "" : " ") + shell_word(word);
  }
  return command;
}

void expect_jobs(const Plan& plan, Store& store, const Shares& shares, Progress& progress) {
  const auto rates =
      measured_rates(&store, measurement_of(plan), shares, Json::object(), plan.backbone.images);
  if (rates.measured) progress.trust_estimates();
  for (const auto& job : planned_jobs(plan, &store, rates)) {
    if (!job.takes_a_worker()) continue;
    if (!job.done) {
      progress.expect(job.key, job.expected());
    } else if (!job.is_of_finished_experiment) {
      progress.expect_done(job.key);
    }
  }
}

PlanWork::PlanWork(const WorkOptions& options, const Plan& plan, const Json& resources,
                   const MissingScores& missing, Store& store, Progress& progress)
    : options_(options),
      plan_(plan),
      resources_(resources),
      store_(store),
      progress_(progress),
      shares_(shares_of(options.dealing, plan)),
      runner_(plan, store, shares_),
      settings_(SchedulerSettings::from_environment()) {
  settings_.worker = worker_program();
  settings_.jobs = shares_.jobs;
  settings_.ranks = shares_.ranks;
  if (const auto* launcher = options.dealing.launcher)
    settings_.launcher = launcher->job_words(shares_, plan.device_kind != "cpu");
  // An allocation is signalled before it ends, and an epoch may take minutes.
  if (!settings_.launcher.empty() && environment("HARNESS_STOP_MS").empty())
    settings_.stop_limit = std::chrono::minutes(10);
  settings_.gpus = gpus_of(options.dealing, plan);
  runner_.require_same_build(settings_.worker,
                             settings_.launcher.empty() && options.dealing.batch == nullptr);
  runner_.ask_again(missing);
}

BatchExecutor::RequestOf PlanWork::requests() const {
  const auto rates = measured_rates(&store_, measurement_of(plan_), shares_, resources_);
  std::map<std::string, double> seconds;
  for (const auto& job : planned_jobs(plan_, &store_, rates)) seconds[job.key] = job.seconds;
  return [=, this](const Task& task) {
    return job_request({.id = task.id, .folder = task.folder, .seconds = seconds.at(task.progress_key)},
                       plan_, shares_, rates, options_.dealing.arguments);
  };
}

std::unique_ptr<Executor> PlanWork::make_executor() {
  if (options_.dealing.batch == nullptr) return std::make_unique<LocalExecutor>(settings_);
  return std::make_unique<BatchExecutor>(*options_.dealing.batch, settings_.worker, requests(),
                                         continuation_of(plan_));
}

void PlanWork::run() {
  expect_jobs(plan_, store_, shares_, progress_);
  try {
    const auto executor = make_executor();
    run_scheduler(settings_, *executor, hooks(), progress_);
  } catch (const Error& error) {
    if (error.status() != Status::kInterrupted) throw;
    throw Error(error.problem(), "", "go on with: " + resume_command(), Status::kInterrupted);
  }
}

void PlanWork::hand_over(Detached& detached) {
  detached.hand_over(runner_, settings_.worker, requests(), hooks());
}

SchedulerHooks PlanWork::hooks() {
  return {.next = [this] { return runner_.next(); },
          .ingest =
              [this](const Task& task) {
                runner_.ingest(task);
                say_notes();
              },
          .complete = [this](const Task& task) { return runner_.complete(task); },
          .failed = [this](const Task& task,
                           const std::string& what) { store_.mark_job(task.id, JobState::kFailed, what); },
          .is_asked_to_stop = [this] { return stop_request_.came(); }};
}

void PlanWork::say_notes() {
  for (const auto& note : runner_.take_notes()) {
    if (note.level != "info") progress_.say(fmt::format("{}: {}", note.level, note.message));
  }
}

}  // namespace harness
