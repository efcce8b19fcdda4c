#pragma once

#include <signal.h>

#include <cmath>

namespace harness {

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
