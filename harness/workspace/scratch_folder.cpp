#include "harness/workspace/scratch_folder.h"

#include <fmt/format.h>
#include <stdlib.h>

#include <cerrno>
#include <cstring>

#include "core/error.h"
#include "core/files.h"

namespace harness {
namespace fs = std::filesystem;

ScratchFolder::ScratchFolder(const fs::path& parent, const std::string& name, const std::string& hint,
                             bool keep)
    : path_((fs::absolute(parent) / (name + "XXXXXX")).string()), keep_(keep) {
  make_folder(parent);
  if (::mkdtemp(path_.data()) == nullptr)
    throw Error(fmt::format("cannot be made: {}", std::strerror(errno)), path_, hint, Status::kFailed);
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  if (!keep_) fs::remove_all(path_, ignored);
}

}  // namespace harness
