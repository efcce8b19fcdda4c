#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <set>
#include <string>
#include <string_view>

#include "core/processes/process.h"
#include "evaluators/scorer_settings.h"

namespace harness {

using Deadline = std::chrono::steady_clock::time_point;

/// How an exchange with a scorer's process ended.
enum class Exchange {
  kDone,
  kEnded,    ///< the process closed its end, which it does when it dies
  kLate,     ///< the deadline passed
  kTooLong,  ///< a line grew beyond what any answer needs
  kStopped   ///< the stop descriptor became readable
};

/// A program in a process group of its own that exchanges lines with us, within deadlines. Not
/// thread-safe. The calling thread must have SIGPIPE blocked when it writes.
class ScorerProcess {
 public:
  /// stop_fd: a descriptor that becomes readable when waiting must end at once. Throws Error naming the
  /// program if it cannot be started.
  ScorerProcess(const ScorerPoolSettings& settings, int stop_fd);

  /// Closes its input, gives it a moment to end by itself, then kills what is left of it.
  ~ScorerProcess();

  Exchange write(std::string_view bytes, Deadline deadline);

  /// The next line, without its newline.
  Exchange read_line(std::string& line, Deadline deadline);

  /// True if it has written unrequested output, or has ended, since the last line was read.
  bool has_output_or_ended();

  /// Ends it at once.
  void kill();

  /// Ends it (killing it if it does not end within a moment) and describes how it ended: "ended with status
  /// 2WHEN", "ended by signal 11 (Segmentation fault)WHEN"; of a confined one that wrote messages with `; its
  /// last message was "..."`, of a script whose first line is at fault with what mends it.
  std::string how_it_ended(const std::string& when = {});

  std::set<std::uint64_t> ids;  ///< of the requests that it was sent
  bool has_answered = false;

 private:
  Exchange wait_for(int fd, short events, Deadline deadline);
  bool take_messages();
  void keep_last_line(std::string_view bytes);
  std::string last_message();
  void end(std::chrono::milliseconds grace);

  Process process_;
  std::filesystem::path program_;
  int stop_fd_;
  bool confined_, killed_ = false;
  std::size_t forwardable_;
  std::string last_line_, next_line_;  ///< of its messages
  std::string buffer_;
};

}  // namespace harness
