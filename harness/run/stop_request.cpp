#include "harness/run/stop_request.h"

#include <system_error>

#include "core/files.h"

namespace harness {
namespace fs = std::filesystem;
namespace {

fs::path file_of(const Workspace& workspace) {
  return workspace.folder / ".stop";
}

}  // namespace

void ask_to_stop(const Workspace& workspace) {
  write_file_atomically(file_of(workspace), "");
}

void forget_stop_request(const Workspace& workspace) {
  std::error_code absent;
  fs::remove(file_of(workspace), absent);
}

StopRequest::StopRequest(const Workspace& workspace) : file_(file_of(workspace)) {}

bool StopRequest::came() {
  const auto now = std::chrono::steady_clock::now();
  if (now - polled_ < std::chrono::seconds(1)) return false;
  polled_ = now;
  std::error_code absent;
  return fs::exists(file_, absent);
}

}  // namespace harness
