#include "evaluators/child_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <thread>
#include <utility>

#include "core/error.h"
#include "core/files.h"
#include "core/streams.h"
#include "core/text.h"
#include "evaluators/keeper/keeper.h"

namespace harness {
namespace {

using std::chrono::milliseconds;

constexpr std::size_t kLongestLine = 1u << 20;
constexpr std::size_t kShownLine = 300;
constexpr milliseconds kGrace{500};
/// A keeper ends once all that its program left behind has ended, which may take it its own patience.
constexpr milliseconds kKeeperGrace{3000}, kKeeperPatience{10'000};

/// A pipe whose ends no other child inherits; `both_ways`: a socket pair, both of whose ends do both.
struct Pipe {
  int read = -1, write = -1;

  explicit Pipe(bool both_ways = false) {
    int ends[2];
    const int made =
        both_ways ? ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) : ::pipe2(ends, O_CLOEXEC);
    if (made != 0) throw Error(std::strerror(errno), "pipe", {}, Status::kFailed);
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

  /// child_messages: -1 for our own standard error. keeper_socket: of a keeper; -1 for any other program.
  SpawnPlan(int child_input, int child_output, int child_messages, int keeper_socket,
            const std::filesystem::path& folder) {
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, child_input, STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, child_output, STDOUT_FILENO);
    if (child_messages >= 0) posix_spawn_file_actions_adddup2(&actions, child_messages, STDERR_FILENO);
    if (!folder.empty()) posix_spawn_file_actions_addchdir_np(&actions, folder.c_str());
    if (keeper_socket >= 0) posix_spawn_file_actions_adddup2(&actions, keeper_socket, kKeeperSocket);
    // Whatever else is open here, above all a locked event log, must not live on in a child.
    posix_spawn_file_actions_addclosefrom_np(&actions,
                                             (keeper_socket >= 0 ? kKeeperSocket : STDERR_FILENO) + 1);
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

/// What a keeper says of its program's start: 0, or errno.
int start_error(int keeper_socket) {
  int error = 0;
  ssize_t count = 0;
  while ((count = ::read(keeper_socket, &error, sizeof error)) < 0 && errno == EINTR) {
  }
  return count == sizeof error ? error : ECHILD;
}

}  // namespace

ChildProcess::ChildProcess(const std::vector<std::string>& command, int stop_fd, const ChildOptions& options)
    : stop_fd_(stop_fd), forwardable_(options.forwarded) {
  Pipe input, output, messages, keeper(true);
  const SpawnPlan plan(input.read, output.write, options.confined ? messages.write : -1,
                       options.confined ? keeper.write : -1, options.folder);
  auto words = command;
  if (options.confined) words.insert(words.begin(), sibling_program(kKeeperProgram).string());
  int error =
      ::posix_spawnp(&pid_, words.at(0).c_str(), &plan.actions, &plan.attributes, c_strings(words).data(),
                     c_strings(child_environment(options.environment)).data());
  if (error == 0 && options.confined) {
    ::close(take(keeper.write));
    error = start_error(keeper.read);
    while (error != 0 && ::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  if (error != 0) {
    throw Error(fmt::format("cannot be started: {}", std::strerror(error)), command[0],
                "check the scorer's path and that it may be executed");
  }
  process_ = static_cast<int>(::syscall(
      SYS_pidfd_open, pid_, 0));  // -1 on kernels without it: only the pipes then say that it has ended
  input_ = take(input.write);
  output_ = take(output.read);
  if (options.confined) {
    messages_ = take(messages.read);
    keeper_ = take(keeper.read);
  }
  for (const int fd : {input_, output_, messages_}) {
    if (fd >= 0) set_non_blocking(fd);
  }
}

ChildProcess::~ChildProcess() {
  ::close(input_);
  reap(kGrace);
  for (const int fd : {output_, messages_, process_, keeper_}) {
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

bool ChildProcess::ends_within(milliseconds time) {
  const Deadline until = std::chrono::steady_clock::now() + time;
  while (!has_ended() && std::chrono::steady_clock::now() < until) {
    take_messages();  // or it might wait for us to read them
    std::this_thread::sleep_for(milliseconds(1));
  }
  return has_ended();
}

/// The child and its group, and with a keeper all that it started. Its number is ours to signal as long as
/// nobody has waited for it.
void ChildProcess::kill_all() {
  if (keeper_ >= 0) {
    ::close(take(keeper_));
    ends_within(kKeeperPatience);
  }
  ::kill(pid_, SIGKILL);
  ::kill(-pid_, SIGKILL);
}

void ChildProcess::reap(milliseconds grace) {
  if (reaped_) return;
  killed_ |= !ends_within(grace);
  kill_all();
  while (::waitpid(pid_, &status_, 0) < 0 && errno == EINTR) {
  }
  reaped_ = true;
}

std::string ChildProcess::how_it_ended() {
  reap(keeper_ >= 0 ? kKeeperGrace : kGrace);
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
