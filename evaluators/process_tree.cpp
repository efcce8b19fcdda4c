#include "evaluators/process_tree.h"

#include <fmt/format.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cctype>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <random>
#include <sstream>
#include <thread>

namespace harness {
namespace fs = std::filesystem;
namespace {

using std::chrono::milliseconds;

constexpr int kPasses = 8;  // a process may start another one while the list is read
constexpr milliseconds kPatience{500}, kPause{1};
constexpr double kYoung = 10;  // seconds

enum class Carries { kNo, kYes, kNotKnownYet };

/// Seconds since a process was started; nothing if it is gone.
std::optional<double> age_of(const fs::path& process) {
  std::ifstream file(process / "stat");
  const std::string stat{std::istreambuf_iterator<char>(file), {}};
  const auto name_end = stat.rfind(')');
  if (name_end == std::string::npos) return std::nullopt;
  std::istringstream fields(stat.substr(name_end + 1));
  std::string skipped;
  for (int i = 3; i < 22; ++i) fields >> skipped;
  double ticks = 0;
  timespec now{};
  if (!(fields >> ticks) || ::clock_gettime(CLOCK_BOOTTIME, &now) != 0) return std::nullopt;
  return static_cast<double>(now.tv_sec) - ticks / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

/// A process in the midst of execve has no environment for a moment. Kernel threads never have one, and no
/// program either.
bool is_being_started(const fs::path& process) {
  std::error_code error;
  const bool has_program = !fs::read_symlink(process / "exe", error).empty();
  const auto age = has_program ? age_of(process) : std::nullopt;
  return age && *age < kYoung;
}

Carries carries(const fs::path& process, const std::string& mark) {
  std::ifstream file(process / "environ", std::ios::binary);
  const std::string environment{std::istreambuf_iterator<char>(file), {}};
  if (environment.empty()) return is_being_started(process) ? Carries::kNotKnownYet : Carries::kNo;
  const auto at = environment.find(mark);
  const bool found = at != std::string::npos && (at == 0 || environment[at - 1] == '\0');
  return found ? Carries::kYes : Carries::kNo;
}

struct Pass {
  bool killed = false, undecided = false;
};

Pass kill_once(const std::string& mark) {
  Pass pass;
  std::error_code error;
  for (fs::directory_iterator entry("/proc", error), end; !error && entry != end; entry.increment(error)) {
    const auto name = entry->path().filename().string();
    if (!std::ranges::all_of(name, [](unsigned char c) { return std::isdigit(c) != 0; })) continue;
    const auto pid = static_cast<pid_t>(std::stol(name));
    if (pid == ::getpid()) continue;
    const auto answer = carries(entry->path(), mark);
    pass.killed |= answer == Carries::kYes && ::kill(pid, SIGKILL) == 0;
    pass.undecided |= answer == Carries::kNotKnownYet;
  }
  return pass;
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
  const auto until = std::chrono::steady_clock::now() + kPatience;
  for (int pass = 0; pass < kPasses;) {
    const auto seen = kill_once(mark);
    if (seen.killed) {
      ++pass;
    } else if (!seen.undecided || std::chrono::steady_clock::now() >= until) {
      return;
    } else {
      std::this_thread::sleep_for(kPause);
    }
  }
}

}  // namespace harness
