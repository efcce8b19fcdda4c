#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/processes/process.h"

namespace harness {

/// One running worker: its standard input is held open by us and nobody else, its standard output gives
/// lines, its standard error is appended to a file. It leads its own process group, so that a Ctrl-C at the
/// terminal reaches only us.
class WorkerProcess {
 public:
  using OnLine = std::function<void(std::string_view)>;

  /// Starts a program with its arguments. Throws Error (Status::kFailed) if it cannot be started.
  WorkerProcess(boost::asio::io_context& io, const std::vector<std::string>& words,
                const std::filesystem::path& stderr_file, OnLine on_line);
  /// Kills the group if it still runs.
  ~WorkerProcess() { *reading_ = false; }

  pid_t pid() const { return process_.pid(); }

  /// Asks the worker to end after its current shard.
  void close_input() { process_.in.close(); }
  /// SIGKILL to the worker and its children.
  void kill() { process_.kill(); }
  /// How it ended, once it has and what it wrote has been handed to on_line. Its own children (scorers) end
  /// with their pipes and keepers; what is left of the group is not waited for. Never blocks.
  std::optional<ExitStatus> ended();

 private:
  void read_more();
  /// Reads once; the number of bytes, or nothing at the end of the output.
  std::optional<std::size_t> take();
  void drain();

  Process process_;
  boost::asio::posix::stream_descriptor output_;
  OnLine on_line_;
  std::string partial_;
  std::shared_ptr<bool> reading_ = std::make_shared<bool>(true);  ///< seen by handlers that outlive us
};

/// The last lines of a text file, for error messages; empty if there is none.
std::string tail_of_file(const std::filesystem::path& file, std::size_t lines);

}  // namespace harness
