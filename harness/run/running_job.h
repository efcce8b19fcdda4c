#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "core/event_log.h"
#include "core/processes/process.h"
#include "harness/run/task.h"

namespace harness {

/// One job at work, or on its way to it, wherever that is.
class RunningJob {
 public:
  using Clock = std::chrono::steady_clock;
  /// Lines of the worker (core/EVENTS.md), or what stands for them.
  using OnLine = std::function<void(RunningJob&, std::string_view)>;

  explicit RunningJob(Task its_task)
      : task(std::move(its_task)), log_begin(end_of_log(task.folder / kEventLog)) {}
  virtual ~RunningJob() = default;
  RunningJob(const RunningJob&) = delete;
  RunningJob& operator=(const RunningJob&) = delete;

  /// Called several times a second.
  virtual void poll() {}
  /// How it ended, once it has and all that it left can be read. Never blocks.
  virtual std::optional<ExitStatus> ended() = 0;
  /// To save and end.
  virtual void ask_to_stop() = 0;
  virtual void kill() = 0;

  /// "pid 4711"
  virtual std::string name() const = 0;
  /// In words: "died with signal 9 (Killed)".
  virtual std::string how_it_ended(const ExitStatus& status) const {
    return status.ok() ? "ended without completing its job" : "died with " + status.text();
  }
  /// Where the reason may be.
  virtual std::filesystem::path log() const { return task.folder / kWorkerLog; }

  const Task task;
  std::uint64_t log_begin;  ///< bytes of its event log that earlier attempts have left
  Clock::time_point last_sign = Clock::now();
  bool has_reported = false;
  bool log_has_grown = false, silent = false;
};

}  // namespace harness
