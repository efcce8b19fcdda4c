#include "core/file_checksums.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "core/error.h"
#include "core/files.h"
#include "core/host.h"
#include "core/json.h"
#include "core/sha256.h"

namespace harness {
namespace fs = std::filesystem;
namespace {

constexpr std::int64_t kLarge = 64 << 20;

fs::path memory_folder() {
  const auto cache = environment("XDG_CACHE_HOME"), home = environment("HOME");
  if (!cache.empty()) return fs::path(cache) / "lambda-harness/checksums";
  return home.empty() ? fs::path() : fs::path(home) / ".cache/lambda-harness/checksums";
}

/// What changes whenever the file does.
std::string state_of_file(const fs::path& file, const struct ::stat& info) {
  return fmt::format("{} {} {} {}.{:09}", fs::absolute(file).string(), info.st_size, info.st_ino,
                     info.st_ctim.tv_sec, info.st_ctim.tv_nsec);
}

std::string state_of_file(const fs::path& file) {
  struct ::stat info {};
  if (::stat(file.c_str(), &info) != 0)
    throw Error(fmt::format("cannot be read: {}", std::strerror(errno)), file.string());
  return state_of_file(file, info);
}

}  // namespace

HeldFiles::HeldFiles(const std::vector<fs::path>& files) {
  for (const auto& file : files) states_[file] = state_of_file(file);
}

void HeldFiles::expect_unchanged() const {
  for (const auto& [file, state] : states_) {
    if (fs::exists(file) && state_of_file(file) == state) continue;
    throw Error("was changed while a job read it", file.string(),
                "leave it alone while runs go on, then repeat the command: what is done stays done",
                Status::kFailed);
  }
}

std::string remembered_sha256(const fs::path& file) {
  struct ::stat info {};
  const auto folder = memory_folder();
  if (::stat(file.c_str(), &info) != 0 || info.st_size < kLarge || folder.empty()) return sha256_file(file);
  const auto memory = folder / sha256_hex(state_of_file(file, info));
  constexpr std::size_t kDigits = 64;
  std::error_code unknown;
  // A cache that cannot be read or written costs time, no result.
  try {
    if (fs::exists(memory, unknown) && fs::file_size(memory, unknown) == kDigits) return read_file(memory);
  } catch (const Error&) {
  }
  const auto sum = sha256_file(file);
  try {
    make_folder(folder);
    write_file_atomically(memory, sum);
  } catch (const Error&) {
  }
  return sum;
}

}  // namespace harness
