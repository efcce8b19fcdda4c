#pragma once

#include <sys/types.h>

#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace harness {

/// How a child ended: exactly one of the two is meant (signal 0: it exited with `code`).
struct ExitStatus {
  int code = 0, signal = 0;
  bool ok() const { return code == 0 && signal == 0; }
  std::string text() const;  ///< "exit status 3" or "signal 9 (Killed)"
};

/// One running worker: its standard input is held open by us and nobody else, its standard output gives
/// lines, its standard error is appended to a file. It leads its own process group, so that a Ctrl-C at the
/// terminal reaches only us.
class WorkerProcess {
 public:
  using OnLine = std::function<void(std::string_view)>;

  /// Starts `program` with `arguments`. Throws Error (Status::kFailed) if it cannot be started.
  WorkerProcess(boost::asio::io_context& io, const std::filesystem::path& program,
                const std::vector<std::string>& arguments, const std::filesystem::path& stderr_file,
                OnLine on_line);
  /// Kills the group if it still runs.
  ~WorkerProcess();
  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;

  pid_t pid() const { return pid_; }

  /// Asks the worker to end after its current shard.
  void close_input();
  /// SIGKILL to the worker and its children.
  void kill();
  /// True once it has ended (`status` is then set and what it wrote has been handed to on_line). Never
  /// blocks.
  bool ended(ExitStatus& status);

 private:
  void read_more();
  /// Reads once; false at the end of the output.
  bool take();
  void drain();

  boost::asio::posix::stream_descriptor output_;
  int input_ = -1;
  pid_t pid_ = -1;
  bool reaped_ = false;
  ExitStatus status_;
  OnLine on_line_;
  std::string partial_;
  std::array<char, 4096> buffer_{};
  std::shared_ptr<bool> reading_ = std::make_shared<bool>(true);  ///< seen by handlers that outlive us
};

/// Runs a program to its end with our own standard error; gives its standard output. For short helpers
/// (`describe`, `parity`). Throws Error (Status::kFailed) if it cannot be started; `status` says how it
/// ended.
std::string run_program(const std::filesystem::path& program, const std::vector<std::string>& arguments,
                        ExitStatus& status);

/// The last lines of a text file, for error messages; empty if there is none.
std::string tail_of_file(const std::filesystem::path& file, std::size_t lines);

}  // namespace harness
