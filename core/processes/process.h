#pragma once

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/descriptor.h"

namespace harness {

/// How a program ended: exactly one of the two is meant (signal 0: it exited with `code`).
struct ExitStatus {
  int code = 0, signal = 0;
  bool ok() const { return code == 0 && signal == 0; }
  std::string text() const;  ///< "exit status 3" or "signal 9 (Killed)"
};

/// In the place of a descriptor: our own stream, or a pipe whose other end we keep.
inline constexpr int kInherited = -1, kPipe = -2;

struct ProcessOptions {
  std::filesystem::path folder = {};                        ///< it works in; empty: ours
  std::map<std::string, std::string> environment = {};      ///< laid over ours
  int in = kInherited, out = kInherited, err = kInherited;  ///< a descriptor, kInherited or kPipe
  bool own_group = false;  ///< a process group of its own: a Ctrl-C at the terminal does not reach it
  /// For programs of other authors: it runs under a harness-keeper (keeper/main.cpp), so that
  /// when it ends, or we do, so does every process that it started.
  bool confined = false;
  /// Of a program that a user names: what to do if it cannot be started, which then is an error of usage.
  std::string hint = {};
};

/// A program at work. Of our descriptors it inherits its three streams, of the signals that we ignore only
/// SIGHUP (under nohup it ignores it, too) and SIGXFSZ (a file that grows too large is an error of a write).
class Process {
 public:
  /// words: the program (looked up in PATH if it has no slash, else relative to its folder) and its
  /// arguments. Throws Error naming the program if it cannot be started.
  explicit Process(const std::vector<std::string>& words, const ProcessOptions& options = {});
  /// Kills it if it still runs.
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  pid_t pid() const { return pid_; }
  /// Becomes readable when the program has ended. -1 on kernels without it.
  int handle() const { return handle_.get(); }

  /// True once the program itself has ended, also where a process that it started still holds its pipes.
  bool has_ended() const;
  /// has_ended after `time` at most; `meanwhile` is called again and again.
  bool ends_within(
      std::chrono::milliseconds time, const std::function<void()>& meanwhile = [] {}) const;

  /// Kills it with its group, if that is its own, and with all that it started, if it is confined.
  void kill();
  /// Waits until it has ended, and kills what is left of its group.
  const ExitStatus& wait();

  Descriptor in, out, err;  ///< our ends of its pipes; they do not block

 private:
  pid_t pid_ = -1;
  bool own_group_, reaped_ = false;
  Descriptor handle_, keeper_;
  ExitStatus status_;
};

/// The bytes that can be read from a pipe now, which may be none; nothing at its end.
std::optional<std::string> read_some(int file);

/// An unnamed file with this text: a program's input, or /dev/fd/N for the program that we become.
Descriptor memory_file(std::string_view text);

struct Finished {
  ExitStatus status;
  std::string out, err;  ///< err: if options.err was kPipe
};

/// Runs a program to its end and takes its output. Throws Error if it cannot be started.
Finished run_program(const std::vector<std::string>& words, ProcessOptions options = {});

/// What a program prints on standard output; "" if it cannot be started. Its messages are dropped.
std::string output_of(const std::vector<std::string>& words);

}  // namespace harness
