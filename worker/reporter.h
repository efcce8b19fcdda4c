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

/// Writes a job's event log and sends the orchestrator, over the pipe (core/EVENTS.md), `wake` after events,
/// the heartbeat `alive` every 2 s, and `progress {...}`. Notices when the orchestrator closes standard
/// input. With HARNESS_DETACHED there is no orchestrator. With HARNESS_TAKE_OVER, too, a batch system
/// guarantees that this is the only valid attempt at the job.
class Reporter {
 public:
  /// Locks the log and records `job_started`. A no-op in every process of the job but the root.
  Reporter(const WorkerJob& job, bool is_root);
  ~Reporter();
  Reporter(const Reporter&) = delete;
  Reporter& operator=(const Reporter&) = delete;

  /// Appends to the log; thread-safe. Non-finite numbers become null.
  void event(Json event);
  /// Notifies the orchestrator of new events.
  void wake();
  /// The first call marks the end of the job's start.
  void progress(double done, double total, const std::string& unit, double images, const std::string& text);

  /// job_completed, with wall time, that of its start, and peak memory; synced.
  void completed(Json summary);
  void failed(const std::string& what, const std::string& where, const std::string& hint);

  /// True once the orchestrator has closed the pipe, a batch system has sent SIGTERM, another attempt has
  /// taken over the log, or the job is cancelled: finish the shard or epoch and end.
  bool should_stop() const;
  /// Throws Error (Status::kInterrupted) then: later failures have no known reason.
  void expect_no_stop() const;
  bool is_superseded() const;  ///< another attempt has taken the log over

 private:
  bool is_cancelled() const;  ///< by the marker in the job's folder
  void send(const std::string& line);
  /// Sends heartbeats until the destructor ends it.
  void watch();

  std::filesystem::path folder_;
  std::optional<EventLogWriter> log_;  ///< the root's
  bool has_orchestrator_;              ///< which holds our streams
  double started_, synced_ = 0;
  std::optional<double> work_started_;
  std::mutex mutex_;
  std::atomic<bool> stop_ = false;
  int end_pipe_[2] = {-1, -1};
  std::thread watcher_;
};

}  // namespace harness
