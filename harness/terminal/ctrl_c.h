#pragma once

#include <signal.h>
#include <unistd.h>

#include <cmath>
#include <string_view>

#include "core/error.h"

namespace harness {

/// From here on SIGTERM outside of a wait ends the program with the status of an interruption. (Ctrl-C needs
/// no help: a shell calls its signal by the same number.)
inline void end_interrupted_on_sigterm() {
  struct sigaction action {};
  action.sa_handler = [](int) {
    constexpr std::string_view kSaid = "interrupted\n";
    [[maybe_unused]] const auto written = ::write(STDERR_FILENO, kSaid.data(), kSaid.size());
    ::_exit(static_cast<int>(Status::kInterrupted));
  };
  ::sigaction(SIGTERM, &action, nullptr);
}

/// Ctrl-C, or SIGTERM, ends a wait instead of the program.
class CtrlC {
 public:
  CtrlC() {
    ::sigemptyset(&signals_);
    ::sigaddset(&signals_, SIGINT);
    ::sigaddset(&signals_, SIGTERM);
    ::sigprocmask(SIG_BLOCK, &signals_, &before_);
  }
  ~CtrlC() { ::sigprocmask(SIG_SETMASK, &before_, nullptr); }
  CtrlC(const CtrlC&) = delete;
  CtrlC& operator=(const CtrlC&) = delete;

  /// True if it came within `seconds`.
  bool comes_within(double seconds) const {
    const double whole = std::floor(seconds);
    const timespec time{.tv_sec = static_cast<time_t>(whole),
                        .tv_nsec = static_cast<long>((seconds - whole) * 1e9)};
    return ::sigtimedwait(&signals_, nullptr, &time) > 0;
  }

 private:
  sigset_t signals_{}, before_{};
};

}  // namespace harness
