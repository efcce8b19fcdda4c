#include "evaluators/process_tree.h"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>

namespace harness {
namespace fs = std::filesystem;
namespace {

constexpr int kPasses = 8;  // a process may start another one while the list is read

bool carries(const fs::path& process, const std::string& mark) {
  std::ifstream file(process / "environ", std::ios::binary);
  const std::string environment{std::istreambuf_iterator<char>(file), {}};
  const auto at = environment.find(mark);
  return at != std::string::npos && (at == 0 || environment[at - 1] == '\0');
}

/// True if one was found.
bool kill_once(const std::string& mark) {
  bool found = false;
  std::error_code error;
  for (fs::directory_iterator entry("/proc", error), end; !error && entry != end; entry.increment(error)) {
    const auto name = entry->path().filename().string();
    if (!std::ranges::all_of(name, [](unsigned char c) { return std::isdigit(c) != 0; })) continue;
    const auto pid = static_cast<pid_t>(std::stol(name));
    if (pid == ::getpid() || !carries(entry->path(), mark)) continue;
    found |= ::kill(pid, SIGKILL) == 0;
  }
  return found;
}

}  // namespace

std::string new_process_mark() {
  static std::atomic<unsigned> count = 0;
  std::random_device random;
  return fmt::format("{}{}-{:08x}{:08x}", process_marks_of(::getpid()), ++count, random(), random());
}

std::string process_marks_of(pid_t pid) {
  return fmt::format("HARNESS_SCORER_PROCESS={}-", pid);
}

void kill_marked_processes(const std::string& mark) {
  for (int pass = 0; pass < kPasses && kill_once(mark); ++pass) {
  }
}

}  // namespace harness
