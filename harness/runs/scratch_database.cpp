#include "harness/runs/scratch_database.h"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <set>
#include <string_view>

#include "core/error.h"
#include "core/files.h"

namespace harness {
namespace fs = std::filesystem;
namespace {

bool is_alive(pid_t process) {
  return ::kill(process, 0) == 0 || errno == EPERM;
}

void remove_database(const fs::path& path) {
  std::error_code ignored;
  fs::remove(path, ignored);
  for (const auto& suffix : kBesideDatabase) fs::remove(path.string() + suffix, ignored);
}

void clear_leftovers(const fs::path& folder, const std::string& before, const std::string& after) {
  std::error_code ignored;
  std::set<fs::path> left;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    const auto name = entry.path().filename().string();
    if (!name.starts_with(before)) continue;
    pid_t process = 0;
    const char* digits = name.data() + before.size();
    const auto end = std::from_chars(digits, name.data() + name.size(), process).ptr;
    if (end == digits || !std::string_view(end).starts_with(after) || is_alive(process)) continue;
    left.insert(folder / (name.substr(0, static_cast<std::size_t>(end - name.data())) + after));
  }
  for (const auto& path : left) remove_database(path);
}

}  // namespace

ScratchDatabase::ScratchDatabase(const fs::path& folder, const std::string& before, const std::string& after)
    : path_(folder / fmt::format("{}{}{}", before, ::getpid(), after)) {
  clear_leftovers(path_.parent_path(), before, after);
  remove_database(path_);
}

ScratchDatabase::~ScratchDatabase() {
  remove_database(path_);
}

/// A new folder, nobody else's: what an earlier one left there, a worker would go on with.
static std::string made_folder(const fs::path& parent, const std::string& name, const std::string& hint) {
  auto path = (parent / (name + "XXXXXX")).string();
  if (::mkdtemp(path.data()) == nullptr)
    throw Error(fmt::format("cannot be made: {}", std::strerror(errno)), path, hint, Status::kFailed);
  return path;
}

ScratchFolder::ScratchFolder(const std::string& name)
    : path_(made_folder(fs::temp_directory_path(), name, "set TMPDIR to a folder you can write to")) {}

ScratchFolder::ScratchFolder(const fs::path& parent, const std::string& name, bool keep) : keep_(keep) {
  make_folder(parent);
  path_ =
      made_folder(parent, name, "it lies beside the DB: copy the workspace to a place that you can write to");
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  if (!keep_) fs::remove_all(path_, ignored);
}

}  // namespace harness
