#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "harness/terminal/progress.h"

namespace harness {

/// One job as the scheduler sees it: a folder that holds a job.json.
struct Task {
  std::string id, label;
  std::filesystem::path folder;
  std::string progress_key;  ///< what Progress knows it by
};

struct SchedulerSettings {
  std::filesystem::path worker;                    ///< the program; called as `worker run FOLDER`
  int jobs = 1;                                    ///< at a time
  int ranks = 1;                                   ///< processes of a job
  std::chrono::milliseconds silence_limit{60000};  ///< a worker that says nothing for so long is killed
  std::chrono::milliseconds stop_limit{10000};  ///< how long a worker may take to end after it was asked to

  /// The limits with $HARNESS_SILENCE_MS and $HARNESS_STOP_MS applied (tests shorten them).
  static SchedulerSettings from_environment();
};

struct SchedulerHooks {
  /// The next job that can start now, or nothing. Asked again whenever a job has ended.
  std::function<std::optional<Task>()> next;
  /// The job's event log has grown, or its worker has ended: read it.
  std::function<void(const Task&)> ingest;
  /// After the worker ended with status 0 and the last ingest: must say whether the job is complete.
  std::function<bool(const Task&)> complete;
  /// The worker failed, died or fell silent: record why.
  std::function<void(const Task&, const std::string& what)> failed;
};

/// Runs jobs until none is left. Throws Error once workers have ended and are ingested: Status::kInterrupted
/// after SIGINT, SIGTERM or SIGHUP; Status::kFailed, with status or signal and the tail of the log, else.
void run_scheduler(const SchedulerSettings& settings, const SchedulerHooks& hooks, Progress& progress);

}  // namespace harness
