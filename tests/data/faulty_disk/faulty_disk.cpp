// Preloaded into a program under test: a disk that is slow, full or broken on demand. It sees write, fsync,
// fdatasync and rename of files whose path holds HARNESS_DISK_PATH (unset: none), and nothing that
// goes to the standard streams.
//
//   HARNESS_DISK_PROGRAM   only programs whose path ends so
//   HARNESS_DISK_FAIL      "write", "sync", "rename" or "any": which calls fail. A full disk takes half of a
//                          write first; HARNESS_DISK_ERRNO   with this number; unset: ENOSPC
//   HARNESS_DISK_FROM      the first that fails, counted from 1; HARNESS_DISK_EVERY   how often from there on
//                          (unset: each)
//   HARNESS_DISK_KILL      "rename" or "unlinkat": the call HARNESS_DISK_FROM of this name ends the program
//                          (SIGKILL)
//   HARNESS_DISK_NO_LOCKS  flock fails with this number, as on file systems without locks
//   HARNESS_DISK_FREE      how many bytes are said to be free
//   HARNESS_DISK_DELAY_US  how long each sync and rename takes
//   HARNESS_DISK_TRACE     a file that gets a line for each call, and for each start of a worker:
//                          TIME PID CALL PATH WHAT, where WHAT is the type of the record that is written
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/file.h>
#include <sys/statvfs.h>
#include <sys/time.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

namespace {

std::string_view environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string_view() : value;
}

long number(const char* name, long otherwise) {
  const auto text = environment(name);
  return text.empty() ? otherwise : std::atol(text.data());
}

std::string link_target(const char* link) {
  char target[PATH_MAX];
  const auto size = ::readlink(link, target, sizeof target);
  return size < 0 ? std::string() : std::string(target, static_cast<std::size_t>(size));
}

bool is_meant() {
  static const bool meant = link_target("/proc/self/exe").ends_with(environment("HARNESS_DISK_PROGRAM"));
  return meant && !environment("HARNESS_DISK_PATH").empty();
}

template <class Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

/// "checkpoint" for the line of a log that holds "type":"checkpoint" as its last field.
std::string type_of(std::string_view bytes) {
  constexpr std::string_view kKey = R"("type":")";
  const auto at = bytes.rfind(kKey);
  if (at == std::string_view::npos || bytes.size() > 1 << 20) return "-";
  const auto rest = bytes.substr(at + kKey.size());
  return std::string(rest.substr(0, rest.find('"')));
}

void trace(const char* call, const std::string& path, std::string_view bytes) {
  const auto file_name = environment("HARNESS_DISK_TRACE");
  if (file_name.empty()) return;
  timeval now{};
  ::gettimeofday(&now, nullptr);
  char line[PATH_MAX + 200];
  const int size = std::snprintf(line, sizeof line, "%ld.%06ld %d %s %s %s\n", now.tv_sec, now.tv_usec,
                                 ::getpid(), call, path.c_str(), type_of(bytes).c_str());
  const int file = ::open(file_name.data(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  next<ssize_t(int, const void*, size_t)>("write")(file, line, static_cast<std::size_t>(size));
  ::close(file);
}

bool fails_now(std::string_view kind) {
  static std::atomic<long> seen{0};
  const auto wanted = environment("HARNESS_DISK_FAIL");
  if (wanted.empty() || (wanted != "any" && wanted != kind)) return false;
  const long from = number("HARNESS_DISK_FROM", 1), every = number("HARNESS_DISK_EVERY", 1), count = ++seen;
  return count >= from && (count - from) % every == 0;
}

/// True if the call shall fail, with errno set.
bool fails(const char* call, std::string_view kind, const std::string& path, std::string_view bytes = {}) {
  if (!is_meant() || path.find(environment("HARNESS_DISK_PATH")) == std::string::npos) return false;
  if (kind != "write") ::usleep(static_cast<useconds_t>(number("HARNESS_DISK_DELAY_US", 0)));
  trace(call, path, bytes);  // a sync that the trace holds is as good as done
  if (!fails_now(kind)) return false;
  errno = static_cast<int>(number("HARNESS_DISK_ERRNO", ENOSPC));
  return true;
}

void maybe_kill(std::string_view call, std::string_view path) {
  static std::atomic<long> seen{0};
  if (environment("HARNESS_DISK_KILL") != call || path.find(environment("HARNESS_DISK_PATH")) == path.npos)
    return;
  if (++seen == number("HARNESS_DISK_FROM", 1)) ::raise(SIGKILL);
}

/// Empty for what programs print.
std::string path_of(int file) {
  return is_meant() && file > STDERR_FILENO ? link_target(("/proc/self/fd/" + std::to_string(file)).c_str())
                                            : std::string();
}

/// What a write that fails comes to: a disk that runs full takes a part of it.
template <class Write>
ssize_t cut_short(std::size_t size, Write write) {
  if (errno != ENOSPC || size < 2) return -1;
  return write(size / 2);
}

}  // namespace

extern "C" {

int flock(int file, int operation) noexcept {
  static auto* const real = next<int(int, int)>("flock");
  if (environment("HARNESS_DISK_NO_LOCKS").empty()) return real(file, operation);
  errno = static_cast<int>(number("HARNESS_DISK_NO_LOCKS", 0));
  return -1;
}

int statvfs(const char* path, struct statvfs* info) noexcept {
  static auto* const real = next<int(const char*, struct statvfs*)>("statvfs");
  const int status = real(path, info);
  if (const auto free = number("HARNESS_DISK_FREE", -1); status == 0 && free >= 0) {
    info->f_frsize = 1;
    info->f_bavail = static_cast<fsblkcnt_t>(free);
  }
  return status;
}

ssize_t write(int file, const void* bytes, size_t size) {
  static auto* const real = next<ssize_t(int, const void*, size_t)>("write");
  if (fails("write", "write", path_of(file), {static_cast<const char*>(bytes), size}))
    return cut_short(size, [&](std::size_t part) { return real(file, bytes, part); });
  return real(file, bytes, size);
}

ssize_t pwrite64(int file, const void* bytes, size_t size, off64_t offset) {
  static auto* const real = next<ssize_t(int, const void*, size_t, off64_t)>("pwrite64");
  if (fails("write", "write", path_of(file)))
    return cut_short(size, [&](std::size_t part) { return real(file, bytes, part, offset); });
  return real(file, bytes, size, offset);
}

ssize_t pwrite(int file, const void* bytes, size_t size, off_t offset) {
  return pwrite64(file, bytes, size, offset);
}

int fsync(int file) {
  if (fails("sync", "sync", path_of(file))) return -1;
  return next<int(int)>("fsync")(file);
}

int fdatasync(int file) {
  if (fails("sync", "sync", path_of(file))) return -1;
  return next<int(int)>("fdatasync")(file);
}

int rename(const char* from, const char* to) noexcept {
  maybe_kill("rename", to);
  if (fails("rename", "rename", to)) return -1;
  return next<int(const char*, const char*)>("rename")(from, to);
}

int unlinkat(int folder, const char* path, int flags) noexcept {
  maybe_kill("unlinkat", path);
  return next<int(int, const char*, int)>("unlinkat")(folder, path, flags);
}

int posix_spawnp(pid_t* pid, const char* program, const posix_spawn_file_actions_t* actions,
                 const posix_spawnattr_t* attributes, char* const argv[], char* const variables[]) {
  if (is_meant() && argv[1] != nullptr && std::strcmp(argv[1], "run") == 0) trace("start", argv[2], {});
  return next<int(pid_t*, const char*, const posix_spawn_file_actions_t*, const posix_spawnattr_t*,
                  char* const[], char* const[])>("posix_spawnp")(pid, program, actions, attributes, argv,
                                                                 variables);
}
}
