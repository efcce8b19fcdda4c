#pragma once

#include <atomic>
#include <filesystem>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "core/event_log.h"
#include "worker/job.h"

namespace harness {

/// Writes a job's event log and keeps the orchestrator informed over the pipe (core/EVENTS.md): `wake` after
/// events, `alive` every 2 s, `progress {...}`. Notices when the orchestrator closes our standard input.
/// Where HARNESS_DETACHED is set nobody listens: it neither speaks nor looks at its input. Where
/// HARNESS_TAKE_OVER is set, too, a batch system vouches that no other attempt at the job counts.
class Reporter {
 public:
  /// Takes the log's lock and records `job_started`. Of several processes of a job the root alone speaks and
  /// writes: the reporter of another one does nothing.
  Reporter(const WorkerJob& job, bool is_root);
  ~Reporter();
  Reporter(const Reporter&) = delete;
  Reporter& operator=(const Reporter&) = delete;

  /// Appends to the log; thread-safe. Non-finite numbers become null.
  void event(Json event);
  /// Tells the orchestrator that the log has grown.
  void wake();
  /// How far the work is. The first call says that it begins: what was before it is the job's start.
  void progress(double done, double total, const std::string& unit, double images, const std::string& text);

  /// job_completed, with wall time, that of its start, and peak memory; synced.
  void completed(Json summary);
  void failed(const std::string& what, const std::string& where, const std::string& hint);

  /// True once the orchestrator has closed the pipe, SIGTERM has come (from a batch system), another attempt
  /// has taken the log over, or the job is cancelled: finish the shard or epoch and end.
  bool should_stop() const;
  /// Throws Error (Status::kInterrupted) then: of what has failed since it cannot be told why.
  void expect_no_stop() const;
  bool is_superseded() const;  ///< another attempt has taken the log over

 private:
  bool is_cancelled() const;  ///< by the marker in the job's folder
  void say(const std::string& line);
  /// Until the destructor closes the pipe to it.
  void watch();

  std::filesystem::path folder_;
  std::optional<EventLogWriter> log_;  ///< the root's
  bool is_heard_;                      ///< an orchestrator holds our streams
  double started_, synced_ = 0;
  std::optional<double> begun_;  ///< its work
  std::mutex mutex_;
  std::atomic<bool> stop_ = false;
  int end_pipe_[2] = {-1, -1};
  std::thread watcher_;
};

}  // namespace harness
