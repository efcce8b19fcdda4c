// Preloaded into a program under test: kills it (SIGKILL) when it renames or unlinks something for the
// HARNESS_KILL_COUNT-th time whose path holds HARNESS_KILL_PATH. HARNESS_KILL_CALL: "rename" or "unlinkat".
#include <dlfcn.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>

namespace {

void maybe_kill(const char* call, const char* path) {
  static std::atomic<int> seen{0};
  const char *wanted = std::getenv("HARNESS_KILL_CALL"), *part = std::getenv("HARNESS_KILL_PATH"),
             *count = std::getenv("HARNESS_KILL_COUNT");
  if (wanted == nullptr || part == nullptr || count == nullptr || std::strcmp(wanted, call) != 0) return;
  if (std::strstr(path, part) != nullptr && ++seen == std::atoi(count)) ::raise(SIGKILL);
}

template <class Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

}  // namespace

extern "C" int rename(const char* from, const char* to) noexcept {
  maybe_kill("rename", to);
  return next<int(const char*, const char*)>("rename")(from, to);
}

extern "C" int unlinkat(int folder, const char* path, int flags) noexcept {
  maybe_kill("unlinkat", path);
  return next<int(int, const char*, int)>("unlinkat")(folder, path, flags);
}
