#include "evaluators/child_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <thread>
#include <utility>

#include "core/error.h"

namespace harness {
namespace {

using std::chrono::milliseconds;

constexpr std::size_t kLongestLine = 1u << 20;
constexpr milliseconds kGrace{500};

/// A pipe whose ends no other child inherits.
struct Pipe {
  int read = -1, write = -1;

  Pipe() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) throw Error(std::strerror(errno), "pipe", {}, Status::kFailed);
    read = ends[0];
    write = ends[1];
  }
  ~Pipe() {
    if (read >= 0) ::close(read);
    if (write >= 0) ::close(write);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
};

int take(int& fd) {
  return std::exchange(fd, -1);
}

/// This process's environment with OMP_THREAD_LIMIT=1: one thread a child, because many children share the
/// machine.
std::vector<std::string> child_environment() {
  std::vector<std::string> environment{"OMP_THREAD_LIMIT=1"};
  for (char** entry = environ; *entry != nullptr; ++entry) {
    if (!std::string_view(*entry).starts_with("OMP_THREAD_LIMIT=")) environment.emplace_back(*entry);
  }
  return environment;
}

std::vector<char*> c_strings(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (const std::string& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

/// posix_spawn's attributes and file actions, with their lifetimes.
struct SpawnPlan {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;

  SpawnPlan(int child_input, int child_output) {
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, child_input, STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, child_output, STDOUT_FILENO);
    // Whatever else is open here, above all a locked event log, must not live on in a child.
    posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1);
    posix_spawnattr_init(&attributes);
    // Our threads block signals and our program may ignore some; the child starts with neither.
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setflags(&attributes,
                             POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  }
  ~SpawnPlan() {
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
  }
  SpawnPlan(const SpawnPlan&) = delete;
  SpawnPlan& operator=(const SpawnPlan&) = delete;
};

void set_non_blocking(int fd) {
  ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK);
}

}  // namespace

ChildProcess::ChildProcess(const std::vector<std::string>& command, int stop_fd) : stop_fd_(stop_fd) {
  Pipe input, output;
  const SpawnPlan plan(input.read, output.write);
  const auto environment = child_environment();
  const int error = ::posix_spawnp(&pid_, command.at(0).c_str(), &plan.actions, &plan.attributes,
                                   c_strings(command).data(), c_strings(environment).data());
  if (error != 0) {
    throw Error(fmt::format("cannot be started: {}", std::strerror(error)), command[0],
                "check the scorer's path and that it may be executed");
  }
  input_ = take(input.write);
  output_ = take(output.read);
  set_non_blocking(input_);
  set_non_blocking(output_);
}

ChildProcess::~ChildProcess() {
  ::close(input_);
  reap(kGrace);
  ::close(output_);
}

Exchange ChildProcess::wait_for(int fd, short events, Deadline deadline) {
  while (true) {
    const auto left = std::chrono::ceil<milliseconds>(deadline - std::chrono::steady_clock::now()).count();
    if (left <= 0) return Exchange::kLate;
    pollfd watched[] = {{fd, events, 0}, {stop_fd_, POLLIN, 0}};
    const int ready = ::poll(watched, 2, static_cast<int>(std::min<long>(left, 1 << 30)));
    if (ready < 0 && errno != EINTR) return Exchange::kEnded;
    if (ready <= 0) continue;
    if (watched[1].revents != 0) return Exchange::kStopped;
    return Exchange::kDone;
  }
}

Exchange ChildProcess::write(std::string_view bytes, Deadline deadline) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(input_, bytes.data(), bytes.size());
    if (written >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno == EAGAIN) {
      const Exchange waited = wait_for(input_, POLLOUT, deadline);
      if (waited != Exchange::kDone) return waited;
    } else if (errno != EINTR) {
      return Exchange::kEnded;
    }
  }
  return Exchange::kDone;
}

Exchange ChildProcess::read_line(std::string& line, Deadline deadline) {
  std::size_t searched = 0;
  while (true) {
    const std::size_t end = buffer_.find('\n', searched);
    if (end != std::string::npos) {
      line = buffer_.substr(0, end);
      buffer_.erase(0, end + 1);
      return Exchange::kDone;
    }
    searched = buffer_.size();
    if (searched > kLongestLine) return Exchange::kTooLong;
    const Exchange waited = wait_for(output_, POLLIN, deadline);
    if (waited != Exchange::kDone) return waited;
    char chunk[4096];
    const ssize_t count = ::read(output_, chunk, sizeof chunk);
    if (count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR)) return Exchange::kEnded;
    if (count > 0) buffer_.append(chunk, static_cast<std::size_t>(count));
  }
}

bool ChildProcess::has_spoken_or_ended() {
  pollfd watched{output_, POLLIN, 0};
  return !buffer_.empty() || ::poll(&watched, 1, 0) != 0;
}

void ChildProcess::kill() {
  if (reaped_) return;
  killed_ = true;
  ::kill(-pid_, SIGKILL);
  reap(milliseconds(0));
}

void ChildProcess::reap(milliseconds grace) {
  const Deadline until = std::chrono::steady_clock::now() + grace;
  while (!reaped_) {
    const bool late = std::chrono::steady_clock::now() >= until;
    if (late && !killed_) {
      killed_ = true;
      ::kill(-pid_, SIGKILL);
    }
    const pid_t ended = ::waitpid(pid_, &status_, killed_ ? 0 : WNOHANG);
    reaped_ = ended == pid_ || (ended < 0 && errno != EINTR);
    if (!reaped_) std::this_thread::sleep_for(milliseconds(1));
  }
}

std::string ChildProcess::how_it_ended() {
  reap(kGrace);
  if (killed_) return "closed its output and was stopped";
  if (WIFSIGNALED(status_)) {
    return fmt::format("ended by signal {} ({})", WTERMSIG(status_), ::strsignal(WTERMSIG(status_)));
  }
  return fmt::format("ended with status {}", WEXITSTATUS(status_));
}

}  // namespace harness
