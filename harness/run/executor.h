#pragma once

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/run/running_job.h"
#include "harness/run/task.h"

namespace harness {

/// Where the jobs of a command run, and how they get there.
class Executor {
 public:
  virtual ~Executor() = default;

  /// Starts a job, or asks a batch system to. Throws Error where that cannot be.
  virtual std::unique_ptr<RunningJob> start(boost::asio::io_context& io, Task task,
                                            RunningJob::OnLine on_line) = 0;
  /// Called several times a second, before the jobs look; returns what the user should know.
  virtual std::vector<std::string> poll() { return {}; }
  /// Whether jobs go on without us, so that a closed terminal is no reason to stop them; nor do they say that
  /// they live, so that one which falls silent hangs.
  virtual bool jobs_outlive_us() const { return false; }
  /// Who does, if somebody is there who will (Batch::job_text). A Ctrl-C then ends our part alone.
  virtual std::optional<std::string> goes_on_with_jobs() const { return std::nullopt; }
  /// Whether a started job may have to wait for resources, without a heartbeat.
  virtual bool lets_jobs_wait() const { return false; }
  /// Of a job: "started"
  virtual std::string how_started() const { return "started"; }
  /// How long a job may take to end after it was asked to.
  virtual std::chrono::milliseconds stop_limit() const = 0;
};

/// Processes that we start: on this machine, or through a launcher wherever that puts them. Where GPUs
/// are shared a job sees its own alone.
class LocalExecutor : public Executor {
 public:
  explicit LocalExecutor(const SchedulerSettings& settings);

  std::unique_ptr<RunningJob> start(boost::asio::io_context& io, Task task,
                                    RunningJob::OnLine on_line) override;
  bool lets_jobs_wait() const override { return !settings_.launcher.empty(); }
  std::chrono::milliseconds stop_limit() const override { return settings_.stop_limit; }

 private:
  SchedulerSettings settings_;
  std::shared_ptr<std::vector<std::string>> free_gpus_;  ///< jobs give theirs back when they go
};

/// The GPUs that CUDA_VISIBLE_DEVICES names, or all of this machine.
std::vector<std::string> visible_gpus();

/// By whom the processes of a job are started: this program itself (local), the launcher of an allocation, or
/// a batch system, which gets a batch job for each.
std::vector<std::string> executor_names();
inline constexpr const char* kLocalExecutor = "local";

}  // namespace harness
