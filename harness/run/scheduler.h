#pragma once

#include <functional>
#include <optional>
#include <string>

#include "harness/run/executor.h"
#include "harness/run/task.h"
#include "harness/terminal/progress.h"

namespace harness {

struct SchedulerHooks {
  /// The next job that can start now, or nothing. Asked again whenever a job has ended.
  std::function<std::optional<Task>()> next;
  /// The job's event log has grown, or its worker has ended: read it.
  std::function<void(const Task&)> ingest;
  /// After the worker ended with status 0 and the last ingest: must return whether the job is complete.
  std::function<bool(const Task&)> complete;
  /// The worker failed, died or fell silent: record why.
  std::function<void(const Task&, const std::string& what)> failed;
  /// Polled: whether another terminal or machine has requested a stop. May be empty.
  std::function<bool()> is_asked_to_stop = {};
};

/// Runs jobs until none is left. Throws Error once workers have ended and are ingested: Status::kInterrupted
/// after SIGINT, SIGTERM or SIGHUP; Status::kFailed, with status or signal and the tail of the log, else.
void run_scheduler(const SchedulerSettings& settings, Executor& executor, const SchedulerHooks& hooks,
                   Progress& progress);

}  // namespace harness
