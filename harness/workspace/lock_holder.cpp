#include "harness/workspace/lock_holder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>

#include "core/descriptor.h"
#include "core/event_log.h"

namespace harness {
namespace {

namespace fs = std::filesystem;

/// A line of /proc/locks: `4: FLOCK  ADVISORY  WRITE 22199 fe:00:11739374 0 EOF`.
struct LockLine {
  std::string number, kind, strength, access;
  pid_t holder = 0;
  std::string file;

  bool is_flock() const { return kind == "FLOCK"; }  // "->": of one who waits
};

std::string file_of(const struct stat& info) {
  return fmt::format("{:02x}:{:02x}:{}", major(info.st_dev), minor(info.st_dev), info.st_ino);
}

/// Some file systems call their device otherwise in /proc/locks than stat does.
bool has_open(pid_t process, const struct stat& info) {
  std::error_code gone;
  for (fs::directory_iterator at(fmt::format("/proc/{}/fd", process), gone), end; !gone && at != end;
       at.increment(gone)) {
    struct stat open {};
    if (::stat(at->path().c_str(), &open) == 0 && open.st_dev == info.st_dev && open.st_ino == info.st_ino)
      return true;
  }
  return false;
}

/// On a network file system locks are those of fcntl, which the server can be asked about.
std::optional<pid_t> holder_elsewhere(const fs::path& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct flock wanted {};
  wanted.l_type = F_RDLCK;
  wanted.l_whence = SEEK_SET;
  if (file.get() < 0 || ::fcntl(file.get(), F_GETLK, &wanted) != 0 || wanted.l_type == F_UNLCK)
    return std::nullopt;
  return std::max<pid_t>(0, wanted.l_pid);
}

}  // namespace

std::optional<pid_t> lock_holder(const fs::path& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return std::nullopt;
  std::ifstream locks("/proc/locks");
  if (!locks) return event_log_is_held(path) ? std::optional<pid_t>(0) : std::nullopt;
  const auto name = file_of(info), inode = fmt::format(":{}", info.st_ino);
  for (std::string line; std::getline(locks, line);) {
    LockLine lock;
    std::istringstream words(line);
    words >> lock.number >> lock.kind >> lock.strength >> lock.access >> lock.holder >> lock.file;
    if (!words || !lock.is_flock() || !lock.file.ends_with(inode)) continue;
    if (lock.file == name || has_open(lock.holder, info)) return lock.holder;
  }
  return holder_elsewhere(path);
}

}  // namespace harness
