#include "harness/workspace.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "core/error.h"
#include "core/files.h"
#include "core/text.h"

namespace harness {
namespace fs = std::filesystem;

Workspace make_workspace(const fs::path& out, const fs::path& db) {
  return {.folder = out, .db = db.empty() ? out / "results.sqlite" : db};
}

WorkspaceLock::WorkspaceLock(const Workspace& workspace) {
  const auto path = workspace.folder / ".lock";
  file_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (file_ < 0) {
    throw Error(fmt::format("cannot be written: {}", std::strerror(errno)), workspace.folder.string(),
                "choose a folder you can write to with --out");
  }
  if (::flock(file_, LOCK_EX | LOCK_NB) != 0) {
    const std::string holder(trim(read_file(path)));
    ::close(file_);
    throw Error(fmt::format("another harness works here (pid {})", holder.empty() ? "unknown" : holder),
                workspace.folder.string(), "wait for it, or choose another folder with --out",
                Status::kFailed);
  }
  const auto pid = fmt::format("{}\n", ::getpid());
  if (::ftruncate(file_, 0) != 0 ||
      ::pwrite(file_, pid.data(), pid.size(), 0) != static_cast<ssize_t>(pid.size())) {
    const int reason = errno;
    ::close(file_);
    throw Error(fmt::format("cannot be written: {}", std::strerror(reason)), path.string(),
                "free some space or check the disk, then repeat the command: it goes on where it stopped",
                Status::kFailed);
  }
}

WorkspaceLock::~WorkspaceLock() {
  if (file_ >= 0) ::close(file_);
}

}  // namespace harness
