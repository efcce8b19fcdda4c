#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/processes/process.h"
#include "harness/run/running_job.h"
#include "harness/run/task.h"

namespace harness {

/// One job at work: as one process or several ranks of this machine, or under a launcher (srun) that starts
/// all ranks where they belong and hands their streams on. Rank 0's standard input is held open by us and
/// no other process (closed, the job ends after its current shard or epoch), its standard output gives lines;
/// what a rank says on standard error is appended to worker.log, of the others to worker.RANK.log. Each leads
/// its own process group, so that a Ctrl-C at the terminal reaches only us.
class LocalJob : public RunningJob {
 public:
  /// Throws Error (Status::kFailed) if the program cannot be started.
  LocalJob(boost::asio::io_context& io, const SchedulerSettings& settings, Task its_task, OnLine on_line);
  /// Kills what still runs.
  ~LocalJob() override;

  /// How rank 0 ended, once all have and what it wrote has been handed to on_line. Its own children (scorers)
  /// end with their pipes and keepers; what is left of the groups is not waited for. Never blocks.
  std::optional<ExitStatus> ended() override;

  void ask_to_stop() override { root_.in.close(); }
  void kill() override;

  std::string name() const override;
  std::string how_it_ended(const ExitStatus& status) const override;
  std::filesystem::path log() const override;

  std::function<void()> on_gone;  ///< called in the end

 private:
  LocalJob(boost::asio::io_context& io, const SchedulerSettings& settings, Task its_task, std::uint16_t port,
           OnLine on_line);
  void read_more();
  /// Reads once; the number of bytes, or nothing at the end of the output.
  std::optional<std::size_t> take();
  void drain();
  /// Gives rank 0 time to notice and report that another rank has failed. One that was asked to stop
  /// has not: rank 0 may still write what it saves.
  void fail_on_lost_rank();
  /// Whether the side that is left has had its while.
  bool has_waited_enough();

  Process root_;
  std::vector<std::unique_ptr<Process>> guests_;  ///< ranks 1, 2, ...
  /// The rank that ended first of all, by a signal or without a word that rank 0 could pass on, and how.
  std::optional<std::pair<int, ExitStatus>> lost_;
  std::optional<Clock::time_point> alone_since_;  ///< one side has ended and the other has not
  const bool is_launched_;                        ///< by a launcher that may wait for resources
  boost::asio::posix::stream_descriptor output_;
  OnLine on_line_;
  std::string partial_;
  std::shared_ptr<bool> reading_ = std::make_shared<bool>(true);  ///< seen by handlers that outlive us
};

}  // namespace harness
