#include "harness/runs/scratch_database.h"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <set>
#include <string_view>

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

}  // namespace harness
