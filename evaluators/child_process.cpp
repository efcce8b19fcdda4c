#include "evaluators/child_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <thread>
#include <utility>

#include "core/error.h"
#include "core/streams.h"
#include "core/text.h"
#include "evaluators/process_tree.h"

namespace harness {
namespace {

using std::chrono::milliseconds;

constexpr std::size_t kLongestLine = 1u << 20;
constexpr std::size_t kShownLine = 300;
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

/// This process's environment with `changes` laid over it.
std::vector<std::string> child_environment(const std::map<std::string, std::string>& changes) {
  std::vector<std::string> environment;
  for (const auto& [name, value] : changes) environment.push_back(fmt::format("{}={}", name, value));
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view variable(*entry);
    if (!changes.contains(std::string(variable.substr(0, variable.find('=')))))
      environment.emplace_back(variable);
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

  /// child_messages: -1 for our own standard error.
  SpawnPlan(int child_input, int child_output, int child_messages, const std::filesystem::path& folder) {
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, child_input, STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, child_output, STDOUT_FILENO);
    if (child_messages >= 0) posix_spawn_file_actions_adddup2(&actions, child_messages, STDERR_FILENO);
    if (!folder.empty()) posix_spawn_file_actions_addchdir_np(&actions, folder.c_str());
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

ChildProcess::ChildProcess(const std::vector<std::string>& command, int stop_fd, const ChildOptions& options)
    : stop_fd_(stop_fd), forwardable_(options.forwarded) {
  Pipe input, output, messages;
  const SpawnPlan plan(input.read, output.write, options.confined ? messages.write : -1, options.folder);
  auto environment = child_environment(options.environment);
  if (options.confined) environment.push_back(mark_ = new_process_mark());
  const int error = ::posix_spawnp(&pid_, command.at(0).c_str(), &plan.actions, &plan.attributes,
                                   c_strings(command).data(), c_strings(environment).data());
  if (error != 0) {
    throw Error(fmt::format("cannot be started: {}", std::strerror(error)), command[0],
                "check the scorer's path and that it may be executed");
  }
  process_ = static_cast<int>(::syscall(
      SYS_pidfd_open, pid_, 0));  // -1 on kernels without it: only the pipes then say that it has ended
  input_ = take(input.write);
  output_ = take(output.read);
  if (options.confined) messages_ = take(messages.read);
  for (const int fd : {input_, output_, messages_}) {
    if (fd >= 0) set_non_blocking(fd);
  }
}

ChildProcess::~ChildProcess() {
  ::close(input_);
  reap(kGrace);
  for (const int fd : {output_, messages_, process_}) {
    if (fd >= 0) ::close(fd);
  }
}

Exchange ChildProcess::wait_for(int fd, short events, Deadline deadline) {
  while (true) {
    const auto left = std::chrono::ceil<milliseconds>(deadline - std::chrono::steady_clock::now()).count();
    if (left <= 0) return Exchange::kLate;
    pollfd watched[] = {
        {fd, events, 0}, {stop_fd_, POLLIN, 0}, {messages_, POLLIN, 0}, {process_, POLLIN, 0}};
    const int ready = ::poll(watched, 4, static_cast<int>(std::min<long>(left, 1 << 30)));
    if (ready < 0 && errno != EINTR) return Exchange::kEnded;
    if (ready <= 0) continue;
    if (watched[1].revents != 0) return Exchange::kStopped;
    if (watched[2].revents != 0) take_messages();
    if (watched[0].revents != 0) return Exchange::kDone;
    if (watched[3].revents == 0) continue;
    // It has ended. What it wrote before is there by now; a pipe that is still open is held by somebody else.
    return ::poll(watched, 1, 0) > 0 ? Exchange::kDone : Exchange::kEnded;
  }
}

/// Reads once from the child's standard error; false if there is nothing now.
bool ChildProcess::take_messages() {
  if (messages_ < 0) return false;
  char chunk[4096];
  const ssize_t count = ::read(messages_, chunk, sizeof chunk);
  if (count < 0) return false;
  if (count == 0) {
    ::close(std::exchange(messages_, -1));
    return false;
  }
  const std::string_view bytes(chunk, static_cast<std::size_t>(count));
  keep_last_line(bytes);
  if (forwardable_ == 0) return true;
  forwardable_ -= std::min(forwardable_, bytes.size());
  tell("{}{}", bytes, forwardable_ == 0 ? "\n[the scorer's further messages are dropped]\n" : "");
  return true;
}

void ChildProcess::keep_last_line(std::string_view bytes) {
  for (const char c : bytes) {
    if (c != '\n') {
      if (next_line_.size() < kShownLine) next_line_ += c;
      continue;
    }
    if (!trim(next_line_).empty()) last_line_ = trim(next_line_);
    next_line_.clear();
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

bool ChildProcess::has_ended() const {
  siginfo_t info{};
  return reaped_ || (::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
                     info.si_pid == pid_);
}

bool ChildProcess::has_spoken_or_ended() {
  pollfd watched{output_, POLLIN, 0};
  return !buffer_.empty() || ::poll(&watched, 1, 0) != 0 || has_ended();
}

void ChildProcess::kill() {
  if (reaped_) return;
  killed_ = !has_ended();
  reap(milliseconds(0));
}

/// The child and all that it started. Its number is ours to signal as long as nobody has waited for it.
void ChildProcess::kill_all() {
  ::kill(pid_, SIGKILL);
  ::kill(-pid_, SIGKILL);
  if (!mark_.empty()) kill_marked_processes(mark_);
}

void ChildProcess::reap(milliseconds grace) {
  if (reaped_) return;
  const Deadline until = std::chrono::steady_clock::now() + grace;
  while (!has_ended() && std::chrono::steady_clock::now() < until) {
    take_messages();  // or it might wait for us to read them
    std::this_thread::sleep_for(milliseconds(1));
  }
  killed_ |= !has_ended();
  kill_all();
  while (::waitpid(pid_, &status_, 0) < 0 && errno == EINTR) {
  }
  reaped_ = true;
}

std::string ChildProcess::how_it_ended() {
  reap(kGrace);
  if (killed_) return "closed its output and was stopped";
  if (WIFSIGNALED(status_)) {
    return fmt::format("ended by signal {} ({})", WTERMSIG(status_), ::strsignal(WTERMSIG(status_)));
  }
  return fmt::format("ended with status {}", WEXITSTATUS(status_));
}

std::string ChildProcess::last_message() {
  constexpr std::size_t kChunks = 256;
  for (std::size_t i = 0; i < kChunks && take_messages(); ++i) {
  }
  keep_last_line("\n");
  return last_line_.empty() ? "" : fmt::format("; its last message was {}", in_quotes(last_line_));
}

}  // namespace harness
