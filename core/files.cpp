#include "core/files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "core/descriptor.h"
#include "core/error.h"
#include "core/file_error.h"
#include "core/host.h"
#include "core/text.h"

namespace harness {
namespace fs = std::filesystem;
namespace {

[[noreturn]] void fail(const std::string& action, const fs::path& path) {
  throw file_error(action, path, errno);
}

/// `named`: the path that an error is about, where that is not the one opened.
Descriptor open_descriptor(const fs::path& path, int flags, const fs::path& named) {
  Descriptor file(::open(path.c_str(), flags | O_CLOEXEC, 0644));
  if (file.get() < 0) fail((flags & O_ACCMODE) == O_RDONLY ? "cannot open" : "cannot write", named);
  return file;
}

[[noreturn]] void fail_to_read(const fs::path& path) {
  const int reason = errno;
  throw Error(fmt::format("cannot be read: {}", std::strerror(reason)), path.string(),
              reason == EACCES || reason == EPERM ? permissions_hint(path) : "check the path");
}

/// Where PATH is written first: a name of this process, since another one that writes PATH may live
/// elsewhere.
fs::path aside_of(const fs::path& path) {
  return path.string() + fmt::format(".tmp-{}-{}", host_name(), ::getpid());
}

void write_all(int file, std::string_view bytes, const fs::path& path) {
  while (!bytes.empty()) {
    const auto written = ::write(file, bytes.data(), bytes.size());
    if (written < 0) {
      if (errno == EINTR) continue;
      fail("cannot write", path);
    }
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
}

void sync_path(const fs::path& path, int flags) {
  const auto file = open_descriptor(path, flags, path);
  if (::fsync(file.get()) != 0 && errno != EINVAL) fail("cannot sync", path);
}

void sync_parent(const fs::path& path) {
  const auto parent = path.parent_path();
  sync_path(parent.empty() ? "." : parent, O_RDONLY | O_DIRECTORY);
}

/// The path in the source tree of a path of the installed layout.
fs::path source_tree_path(const fs::path& relative) {
  const fs::path root = HARNESS_SOURCE_DIR;
  const auto first = relative.begin()->string();
  if (first == "tables" || first == "rules") return root / "harness" / relative;
  if (first == "backbones" || first == "scorers") return root / "models" / relative;
  if (first == "paper") return root / "results" / relative;
  return root / relative;
}

}  // namespace

OpenFile open_file(const fs::path& path) {
  std::error_code unknown;  // a failed stat is followed by a failed open
  const auto type = fs::status(path, unknown).type();
  if (type == fs::file_type::directory) throw Error("is a folder, not a file", path.string());
  if (type == fs::file_type::character || type == fs::file_type::block)
    throw Error("is a device, not a file", path.string());
  OpenFile file(std::fopen(path.c_str(), "rbe"), std::fclose);
  if (!file) fail_to_read(path);
  return file;
}

std::string read_file(const fs::path& path) {
  const auto file = open_file(path);
  std::string bytes;
  std::vector<char> buffer(1 << 16);
  while (const auto count = std::fread(buffer.data(), 1, buffer.size(), file.get()))
    bytes.append(buffer.data(), count);
  if (std::ferror(file.get()) != 0) fail_to_read(path);
  return bytes;
}

void expect_replaceable(const fs::path& path) {
  std::error_code unknown;
  const auto status = fs::status(path, unknown);
  if (fs::is_directory(status)) return;
  const auto place = fs::absolute(path).lexically_normal().string();
  const bool is_of_system = (place.starts_with("/dev/") || place.starts_with("/proc/")) &&
                            fs::is_symlink(fs::symlink_status(path, unknown));
  if (!is_of_system && (!fs::exists(status) || fs::is_regular_file(status))) return;
  throw Error("is a device or a pipe, not a file", path.string(),
              "name a file, which is replaced as a whole");
}

static void remove_whole(const fs::path& path) {
  std::error_code failure;
  fs::remove_all(path, failure);
  if (failure) throw file_error("cannot remove", path, failure.value());
}

/// The temporary file or folder that later replaces a path; removed after a failure.
struct Aside {
  fs::path path;

  explicit Aside(const fs::path& target) : path(aside_of(target)) {}
  ~Aside() {
    std::error_code ignored;
    fs::remove_all(path, ignored);
  }
  Aside(const Aside&) = delete;
  Aside& operator=(const Aside&) = delete;
};

void write_file_atomically(const fs::path& path, std::string_view bytes) {
  expect_replaceable(path);
  const Aside aside(path);
  {
    const auto file = open_descriptor(aside.path, O_WRONLY | O_CREAT | O_TRUNC, path);
    write_all(file.get(), bytes, path);
    if (::fsync(file.get()) != 0) fail("cannot sync", path);
  }
  if (::rename(aside.path.c_str(), path.c_str()) != 0) fail("cannot rename to", path);
  sync_parent(path);
}

void write_file(const fs::path& path, std::string_view bytes) {
  const auto file = open_descriptor(path, O_WRONLY | O_CREAT | O_TRUNC, path);
  write_all(file.get(), bytes, path);
}

void write_folder_atomically(const fs::path& path, const std::function<void(const fs::path&)>& fill) {
  const Aside aside(path);
  remove_whole(aside.path);
  make_folder(aside.path);
  fill(aside.path);
  for (const auto& entry : fs::recursive_directory_iterator(aside.path)) {
    sync_path(entry.path(), entry.is_directory() ? O_RDONLY | O_DIRECTORY : O_RDONLY);
  }
  sync_path(aside.path, O_RDONLY | O_DIRECTORY);
  const fs::path old = aside.path.string() + ".old";
  remove_whole(old);
  while (::rename(aside.path.c_str(), path.c_str()) != 0) {
    if (errno != ENOTEMPTY && errno != EEXIST) fail("cannot rename to", path);
    if (::rename(path.c_str(), old.c_str()) != 0 && errno != ENOENT) fail("cannot rename", path);
    remove_whole(old);
  }
  sync_parent(path);
}

void remove_asides(const fs::path& folder) {
  if (!fs::exists(folder)) return;
  std::vector<fs::path> left;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().filename().string().find(".tmp") != std::string::npos) left.push_back(entry.path());
  }
  for (const auto& path : left) fs::remove_all(path);
}

fs::path backup_name(const fs::path& path, const std::vector<std::string>& beside) {
  for (int n = 1;; ++n) {
    const fs::path name = fmt::format("{}.bak-{}", path.string(), n);
    const bool is_beside = std::ranges::any_of(
        beside, [&](const std::string& suffix) { return fs::exists(name.string() + suffix); });
    if (!fs::exists(name) && !is_beside) return name;
  }
}

void make_folder(const fs::path& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error) {
    errno = error.value();
    fail("cannot make the folder", path);
  }
}

fs::path source_tree() {
  return HARNESS_SOURCE_DIR;
}

fs::path executable_folder() {
  return fs::read_symlink("/proc/self/exe").parent_path();
}

fs::path sibling_program(const std::string& name) {
  for (const auto& folder : {executable_folder(), executable_folder().parent_path()}) {
    if (fs::exists(folder / name)) return folder / name;
  }
  throw Error(fmt::format("{} is not next to the running program", name), executable_folder().string(),
              "build all programs, or install them into one folder");
}

fs::path find_data_file(const fs::path& relative) {
  std::vector<fs::path> places;
  if (const char* path = std::getenv("HARNESS_PATH")) {
    for (const auto& folder : split(path, ':')) {
      if (!folder.empty()) places.push_back(fs::path(folder) / relative);
    }
  }
  const auto here = executable_folder();
  places.push_back(here / "share/harness" / relative);
  places.push_back(here.parent_path() / "share/harness" / relative);
  places.push_back(source_tree_path(relative));
  std::string searched;
  for (const auto& place : places) {
    std::error_code unknown;  // a folder that is not ours to look into does not hold it
    if (fs::exists(place, unknown)) return place;
    searched += (searched.empty() ? "" : ", ") + place.string();
  }
  throw Error("not found", relative.string(),
              fmt::format("searched {}; build everything: scripts/build", searched));
}

}  // namespace harness
