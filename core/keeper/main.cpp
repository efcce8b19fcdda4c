// harness-keeper PROGRAM ARGUMENT...: runs a program of another author, and ends with it everything that
// it started. The program has our standard streams, environment and folder, and a process
// group of its own. We end as it ended.
//
// The process that starts us holds the other end of the socket at kKeeperSocket. An int comes out of it once:
// 0, or the errno why the program could not be started. When that end is closed, which its owner's death does
// too, the program and all its descendants are killed. Those whose parent is gone become our children,
// whatever session, group or environment they chose: PR_SET_CHILD_SUBREAPER in prctl(2).
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "core/keeper/keeper.h"

namespace harness {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kPatience{5};  // with processes that cannot be killed
constexpr std::chrono::milliseconds kPause{1};
constexpr int kCannotStart = 127;

struct Program {
  pid_t pid = -1;
  std::optional<int> status = {};
};

/// Only children are killed: their numbers belong to them until we wait for them. Killing one makes its own
/// children ours.
std::vector<pid_t> children() {
  std::ifstream list("/proc/thread-self/children");
  if (list) return {std::istream_iterator<pid_t>(list), {}};
  // A kernel without that file (CONFIG_PROC_CHILDREN): the parent's number follows the name, which may
  // hold anything, in /proc/PID/stat.
  std::vector<pid_t> found;
  std::error_code error;
  for (std::filesystem::directory_iterator entry("/proc", error), end; !error && entry != end;
       entry.increment(error)) {
    const auto name = entry->path().filename().string();
    std::ifstream file(entry->path() / "stat");
    std::string text, state;
    if (name.find_first_not_of("0123456789") != std::string::npos || !std::getline(file, text)) continue;
    std::istringstream rest(text.substr(std::min(text.size(), text.rfind(')') + 1)));
    pid_t parent = 0;
    if (rest >> state >> parent && parent == ::getpid()) found.push_back(std::stoi(name));
  }
  return found;
}

/// Waits for children that have ended. True while there are others.
bool reap(Program& program) {
  while (true) {
    int status = 0;
    const pid_t pid = ::waitpid(-1, &status, WNOHANG);
    if (pid == 0) return true;
    if (pid < 0 && errno != EINTR) return false;
    if (pid == program.pid) program.status = status;
  }
}

void end_everything(Program& program) {
  const auto until = Clock::now() + kPatience;
  while (reap(program) && Clock::now() < until) {
    for (const pid_t child : children()) ::kill(child, SIGKILL);
    std::this_thread::sleep_for(kPause);
  }
}

/// In the child: becomes the program, or sends errno.
[[noreturn]] void become(char** command, pid_t keeper, int errors) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != keeper) ::_exit(kCannotStart);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::execvp(command[0], command);
  const int error = errno;
  [[maybe_unused]] const auto written = ::write(errors, &error, sizeof error);
  ::_exit(kCannotStart);
}

/// Starts the program. Returns 0, or errno.
int start(char** command, Program& program) {
  int errors[2];  // the program's start closes it
  if (::pipe2(errors, O_CLOEXEC) != 0) return errno;
  const pid_t keeper = ::getpid();
  program.pid = ::fork();
  if (program.pid < 0) return errno;
  if (program.pid == 0) become(command, keeper, errors[1]);
  ::close(errors[1]);
  int error = 0;
  while (::read(errors[0], &error, sizeof error) < 0 && errno == EINTR) {
  }
  ::close(errors[0]);
  return error;
}

/// A descriptor that can be polled for SIGCHLD and the signals that would end us.
int signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGCHLD, SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGPIPE}) sigaddset(&set, signal);
  ::sigprocmask(SIG_BLOCK, &set, nullptr);
  return ::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

/// Blocks until the program exits or must be killed.
void wait_for(Program& program, int signals) {
  pollfd watched[] = {{signals, POLLIN, 0}, {kKeeperSocket, POLLIN, 0}};
  while (!program.status) {
    if (::poll(watched, 2, -1) < 0 && errno != EINTR) return;
    if (watched[1].revents != 0) return;
    if (watched[0].revents == 0) continue;
    signalfd_siginfo signal{};
    if (::read(signals, &signal, sizeof signal) < 0) continue;
    if (signal.ssi_signo == SIGCHLD) {
      reap(program);
    } else if (signal.ssi_signo != SIGPIPE) {
      return;
    }
  }
}

/// Ends as the program did; a crash leaves no second core file.
[[noreturn]] void end_as(const Program& program) {
  const int status = program.status.value_or(SIGKILL);
  if (WIFEXITED(status)) ::_exit(WEXITSTATUS(status));
  ::prctl(PR_SET_DUMPABLE, 0);
  sigset_t all;
  sigfillset(&all);
  ::sigprocmask(SIG_UNBLOCK, &all, nullptr);
  ::kill(::getpid(), WTERMSIG(status));
  ::_exit(128 + WTERMSIG(status));
}

[[noreturn]] void keep(char** command) {
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  ::fcntl(kKeeperSocket, F_SETFD, FD_CLOEXEC);
  const int signal_fd = signals();
  Program program;
  const int error = start(command, program);
  // The program's streams end with the program.
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) ::close(stream);
  if (::write(kKeeperSocket, &error, sizeof error) == sizeof error && error == 0)
    wait_for(program, signal_fd);
  end_everything(program);
  end_as(program);
}

}  // namespace
}  // namespace harness

int main(int argc, char** argv) {
  if (argc < 2 || ::fcntl(harness::kKeeperSocket, F_GETFD) < 0) {
    constexpr char kHelp[] =
        "harness-keeper is started by harness and harness-worker, to run the programs of external scorers.\n";
    [[maybe_unused]] const auto written = ::write(STDERR_FILENO, kHelp, sizeof kHelp - 1);
    return 2;
  }
  harness::keep(argv + 1);
}
