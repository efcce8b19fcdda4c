#include "core/file_error.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>

#include "core/text.h"

namespace harness {

std::string permissions_hint(const std::filesystem::path& path) {
  return fmt::format("check its permissions and owner (`ls -ld {}`)", shell_word(path.string()));
}

Error file_error(const std::string& action, const std::filesystem::path& path, int reason) {
  const auto problem = action.empty() ? std::string(std::strerror(reason))
                                      : fmt::format("{}: {}", action, std::strerror(reason));
  switch (reason) {
    case EACCES:
    case EPERM:
      return Error(problem, path.string(), permissions_hint(path) + ", or choose another place");
    case EROFS:
      return Error(problem, path.string(), "choose a place that you can write to");
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
