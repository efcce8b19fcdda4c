#pragma once

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace harness {

using Deadline = std::chrono::steady_clock::time_point;

/// How an exchange with a child ended.
enum class Exchange {
  kDone,
  kEnded,    ///< the child closed its end, which it does when it dies
  kLate,     ///< the deadline passed
  kTooLong,  ///< a line grew beyond what any answer needs
  kStopped   ///< the stop descriptor became readable
};

struct ChildOptions {
  std::filesystem::path folder = {};  ///< it works in; empty: ours
  /// Laid over our environment. One OpenMP thread a child, because many children share the machine.
  std::map<std::string, std::string> environment = {{"OMP_THREAD_LIMIT", "1"}};
  /// For programs that nobody here has written: of what it writes to standard error the first `forwarded`
  /// bytes go to ours and the last line is remembered. It runs under a harness-keeper (keeper/main.cpp): when
  /// it ends, or we do, so does every process that it started.
  bool confined = false;
  std::size_t forwarded = 1u << 16;
};

/// A program with pipes on its standard input and output (standard error is ours), in a process group of its
/// own so that a Ctrl-C meant for this program does not reach it. It inherits no other descriptor. It has
/// ended when the program itself has, also where a process that it started still holds its pipes. Not
/// thread-safe. The calling thread must have SIGPIPE blocked when it writes.
class ChildProcess {
 public:
  /// command: program (looked up in PATH if it has no slash, else relative to the child's folder) and
  /// arguments. stop_fd: a descriptor that becomes readable when waiting shall end at once. Throws Error
  /// naming the program if it cannot be started.
  ChildProcess(const std::vector<std::string>& command, int stop_fd, const ChildOptions& options = {});

  /// Closes the child's input, gives it a moment to end by itself, then kills what is left of it.
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  Exchange write(std::string_view bytes, Deadline deadline);

  /// The next line, without its newline.
  Exchange read_line(std::string& line, Deadline deadline);

  /// True if the child has said something unasked, or has ended, since the last line was read.
  bool has_spoken_or_ended();

  /// Ends the child at once.
  void kill();

  /// Reaps the child (killing it if it does not end within a moment) and says how it went: "ended with status
  /// 2", "ended by signal 11 (Segmentation fault)".
  std::string how_it_ended();

  /// Of a confined child that has ended: `; its last message was "..."`, or nothing if it wrote none.
  std::string last_message();

 private:
  Exchange wait_for(int fd, short events, Deadline deadline);
  bool has_ended() const;
  bool ends_within(std::chrono::milliseconds time);
  bool take_messages();
  void keep_last_line(std::string_view bytes);
  void kill_all();
  void reap(std::chrono::milliseconds grace);

  pid_t pid_ = -1;
  int input_ = -1, output_ = -1, messages_ = -1, process_ = -1, keeper_ = -1, stop_fd_;
  std::size_t forwardable_ = 0;
  std::string last_line_, next_line_;  ///< of its messages
  int status_ = 0;
  bool reaped_ = false, killed_ = false;
  std::string buffer_;
};

}  // namespace harness
