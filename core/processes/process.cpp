#include "core/processes/process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <span>
#include <thread>

#include "core/error.h"
#include "core/files.h"
#include "core/host.h"
#include "core/keeper/keeper.h"
#include "core/processes/script.h"
#include "core/text.h"

namespace harness {
namespace {

using Clock = std::chrono::steady_clock;

/// A keeper ends once all that its program left behind has ended, which may take it its own patience.
constexpr std::chrono::milliseconds kKeeperPatience{10'000};

Error failure(const std::string& what, int reason, const std::string& where = {}) {
  return Error(fmt::format("{}: {}", what, std::strerror(reason)), where, {}, Status::kFailed);
}

/// The child's end of a stream: the descriptor that it is given, or one end of a new pipe, kept in `theirs`.
int end_for_child(int stream, bool is_input, Descriptor& ours, Descriptor& theirs) {
  if (stream != kPipe) return stream;
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) throw failure("cannot make a pipe", errno);
  ours = Descriptor(ends[is_input ? 1 : 0]);
  theirs = Descriptor(ends[is_input ? 0 : 1]);
  ::fcntl(ours.get(), F_SETFL, O_NONBLOCK);
  return theirs.get();
}

Descriptor keeper_socket(Descriptor& ours) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    throw failure("cannot make a socket", errno);
  ours = Descriptor(ends[0]);
  return Descriptor(ends[1]);
}

/// The result of the program's start as its keeper reports it: 0, or errno.
int start_error(int socket) {
  int error = 0;
  ssize_t count = 0;
  while ((count = ::read(socket, &error, sizeof error)) < 0 && errno == EINTR) {
  }
  return count == sizeof error ? error : ECHILD;
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

/// Why a program that a user named does not start, as far as its file shows.
Error cannot_start(const std::string& program, int error, const ProcessOptions& options) {
  const auto status = options.hint.empty() ? Status::kFailed : Status::kUsage;
  const auto file = program.find('/') == std::string::npos ? program_on_path(program).value_or(program)
                                                           : options.folder / program;
  std::error_code unknown;
  const bool is_there = std::filesystem::is_regular_file(file, unknown);
  if (error == ENOENT && is_there) {
    const auto fault = fault_of_script(file);
    return Error("cannot be started: " + fault.value_or("the system lacks the loader that it was built for"),
                 program, "", status);
  }
  if (error == EACCES && is_there)
    return Error(fmt::format("cannot be started: {}; `chmod +x {}` allows it", std::strerror(error),
                             shell_word(file.string())),
                 program, "", status);
  return Error(fmt::format("cannot be started: {}", std::strerror(error)), program, options.hint, status);
}

/// posix_spawn's file actions and attributes, with their lifetimes.
struct SpawnPlan {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;

  /// files: what the child has as its descriptors from 0 on; kInherited: what we have there.
  SpawnPlan(std::span<const int> files, const ProcessOptions& options) {
    ::posix_spawn_file_actions_init(&actions);
    int next = 0;
    for (const int file : files) {
      if (file != kInherited) ::posix_spawn_file_actions_adddup2(&actions, file, next);
      ++next;
    }
    // Whatever else is open here, above all a locked event log, must not live on in a child.
    ::posix_spawn_file_actions_addclosefrom_np(&actions, next);
    if (!options.folder.empty()) ::posix_spawn_file_actions_addchdir_np(&actions, options.folder.c_str());
    ::posix_spawnattr_init(&attributes);
    sigset_t none, defaults;
    ::sigemptyset(&none);
    ::sigfillset(&defaults);
    for (const int signal : {SIGHUP, SIGXFSZ}) ::sigdelset(&defaults, signal);
    ::posix_spawnattr_setsigmask(&attributes, &none);
    ::posix_spawnattr_setsigdefault(&attributes, &defaults);
    ::posix_spawnattr_setpgroup(&attributes, 0);
    const int group = options.own_group ? POSIX_SPAWN_SETPGROUP : 0;
    ::posix_spawnattr_setflags(&attributes,
                               static_cast<short>(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | group));
  }
  ~SpawnPlan() {
    ::posix_spawn_file_actions_destroy(&actions);
    ::posix_spawnattr_destroy(&attributes);
  }
  SpawnPlan(const SpawnPlan&) = delete;
  SpawnPlan& operator=(const SpawnPlan&) = delete;
};

}  // namespace

std::string ExitStatus::text() const {
  if (signal != 0) return fmt::format("signal {} ({})", signal, ::strsignal(signal));
  // The form in which a shell or srun reports a program that was ended by a signal.
  constexpr int kSignalled = 128, kMostSignals = 64;
  if (code > kSignalled && code <= kSignalled + kMostSignals && code != 130)
    return fmt::format("exit status {} (signal {}, {})", code, code - kSignalled,
                       ::strsignal(code - kSignalled));
  return fmt::format("exit status {}", code);
}

Process::Process(const std::vector<std::string>& words, const ProcessOptions& options)
    : own_group_(options.own_group) {
  Descriptor ends[4];
  std::vector<int> files = {end_for_child(options.in, true, in, ends[0]),
                            end_for_child(options.out, false, out, ends[1]),
                            end_for_child(options.err, false, err, ends[2])};
  auto command = words;
  if (options.confined) {
    command.insert(command.begin(), sibling_program(kKeeperProgram).string());
    ends[3] = keeper_socket(keeper_);
    files.push_back(ends[3].get());
    static_assert(kKeeperSocket == 3);
  }
  const SpawnPlan plan(files, options);
  const auto environment = child_environment(options.environment);
  int error = ::posix_spawnp(&pid_, command.at(0).c_str(), &plan.actions, &plan.attributes,
                             c_strings(command).data(), c_strings(environment).data());
  if (error == 0 && options.confined) {
    ends[3].close();
    error = start_error(keeper_.get());
    if (error != 0) wait();
  }
  if (error != 0) throw cannot_start(words[0], error, options);
  handle_ = Descriptor(static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0)));
}

Process::~Process() {
  kill();
  wait();
}

bool Process::has_ended() const {
  siginfo_t info{};
  return reaped_ || (::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
                     info.si_pid == pid_);
}

bool Process::ends_within(std::chrono::milliseconds time, const std::function<void()>& meanwhile) const {
  const auto until = Clock::now() + time;
  while (!has_ended() && Clock::now() < until) {
    meanwhile();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return has_ended();
}

void Process::kill() {
  if (reaped_) return;
  if (keeper_.get() >= 0) {
    keeper_.close();
    ends_within(kKeeperPatience);
  }
  ::kill(pid_, SIGKILL);
  if (own_group_) ::kill(-pid_, SIGKILL);
}

const ExitStatus& Process::wait() {
  if (reaped_) return status_;
  siginfo_t info{};
  while (::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOWAIT) != 0 && errno == EINTR) {
  }
  // Its process id stays its group's until it has been waited for.
  if (own_group_) ::kill(-pid_, SIGKILL);
  int raw = 0;
  while (::waitpid(pid_, &raw, 0) < 0 && errno == EINTR) {
  }
  reaped_ = true;
  status_ = WIFSIGNALED(raw) ? ExitStatus{.signal = WTERMSIG(raw)} : ExitStatus{.code = WEXITSTATUS(raw)};
  return status_;
}

std::optional<std::string> read_some(int file) {
  std::array<char, 4096> bytes;
  const auto count = ::read(file, bytes.data(), bytes.size());
  if (count > 0) return std::string(bytes.data(), static_cast<std::size_t>(count));
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return "";
  return std::nullopt;
}

Descriptor memory_file(std::string_view text) {
  Descriptor file(::memfd_create("harness", 0));
  if (file.get() < 0 || ::write(file.get(), text.data(), text.size()) != std::ssize(text))
    throw failure("cannot hold a program's input", errno);
  ::lseek(file.get(), 0, SEEK_SET);
  return file;
}

Finished run_program(const std::vector<std::string>& words, ProcessOptions options) {
  options.out = kPipe;
  Process process(words, options);
  Finished finished;
  std::array<pollfd, 2> pipes{pollfd{process.out.get(), POLLIN, 0}, pollfd{process.err.get(), POLLIN, 0}};
  const std::array<std::string*, 2> texts{&finished.out, &finished.err};
  while (pipes[0].fd >= 0 || pipes[1].fd >= 0) {
    if (::poll(pipes.data(), pipes.size(), -1) < 0) continue;
    for (std::size_t i = 0; i < pipes.size(); ++i) {
      if (pipes[i].fd < 0 || pipes[i].revents == 0) continue;
      const auto bytes = read_some(pipes[i].fd);
      texts[i]->append(bytes.value_or(""));
      if (!bytes) pipes[i].fd = -1;
    }
  }
  finished.status = process.wait();
  return finished;
}

std::string output_of(const std::vector<std::string>& words) {
  try {
    return run_program(words, {.err = kPipe}).out;
  } catch (const Error&) {
    return "";
  }
}

}  // namespace harness
