#pragma once

#include <chrono>
#include <filesystem>

#include "harness/workspace/workspace.h"

namespace harness {

// What asks the command that works in a workspace to stop, on whichever machine it is: the file OUT/.stop.

/// Writes it.
void ask_to_stop(const Workspace& workspace);

/// Takes it away: a command begins, which it does not mean.
void forget_stop_request(const Workspace& workspace);

/// Looks for it, once a second at most.
class StopRequest {
 public:
  explicit StopRequest(const Workspace& workspace);

  bool came();

 private:
  std::filesystem::path file_;
  std::chrono::steady_clock::time_point polled_{};
};

}  // namespace harness
