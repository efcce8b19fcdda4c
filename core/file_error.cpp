#include "core/file_error.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>

namespace harness {

Error file_error(const std::string& action, const std::filesystem::path& path, int reason) {
  const auto problem = action.empty() ? std::string(std::strerror(reason))
                                      : fmt::format("{}: {}", action, std::strerror(reason));
  switch (reason) {
    case EACCES:
    case EPERM:
    case EROFS:
      return Error(problem, path.string(), "check its permissions, or choose a place that you can write to");
    case ENAMETOOLONG:
    case EINVAL:
    case ELOOP:
      return Error(problem, path.string(), "check the name, or choose another one");
    case ENOENT:
    case ENOTDIR:
    case EISDIR:
      return Error(problem, path.string(), "check the name, or choose a place that you can write to");
    case ENOSPC:
    case EDQUOT:
      return Error(problem, path.string(),
                   "free some space and repeat the command: it goes on where it stopped", Status::kFailed);
    case EFBIG:
      return Error(
          problem, path.string(),
          "raise the limit on the size of files (`ulimit -f`), then repeat the command: it goes on where it "
          "stopped",
          Status::kFailed);
    default:
      return Error(problem, path.string(),
                   "check the disk, then repeat the command: it goes on where it stopped", Status::kFailed);
  }
}

}  // namespace harness
