#include "harness/worker_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <deque>
#include <fstream>
#include <utility>

#include "core/error.h"

extern char** environ;

namespace harness {
namespace fs = std::filesystem;
namespace {

[[noreturn]] void fail(const std::string& what, int reason, const fs::path& where) {
  throw Error(fmt::format("{}: {}", what, std::strerror(reason)), where.string(), {}, Status::kFailed);
}

/// A file descriptor that closes itself.
class Descriptor {
 public:
  explicit Descriptor(int file = -1) : file_(file) {}
  ~Descriptor() { reset(); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return file_; }
  int release() { return std::exchange(file_, -1); }
  void reset(int file = -1) {
    if (file_ >= 0) ::close(file_);
    file_ = file;
  }

 private:
  int file_;
};

struct Pipe {
  Descriptor read, write;
  explicit Pipe(const fs::path& where) {
    int ends[2];
    // Close-on-exec: a sibling worker that inherited our end would keep this worker's input open after our
    // death.
    if (::pipe2(ends, O_CLOEXEC) != 0) fail("cannot make a pipe", errno, where);
    read.reset(ends[0]);
    write.reset(ends[1]);
  }
};

/// posix_spawn with the three standard descriptors given (-1: our own) and default signals.
pid_t spawn(const fs::path& program, const std::vector<std::string>& arguments, int in, int out, int err,
            bool own_group) {
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  if (in >= 0) ::posix_spawn_file_actions_adddup2(&actions, in, STDIN_FILENO);
  if (out >= 0) ::posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
  if (err >= 0) ::posix_spawn_file_actions_adddup2(&actions, err, STDERR_FILENO);
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  sigset_t none, defaults;
  ::sigemptyset(&none);
  ::sigemptyset(&defaults);
  // Not SIGHUP: under nohup a worker ignores it, too.
  for (const int signal : {SIGINT, SIGTERM, SIGPIPE, SIGCHLD}) ::sigaddset(&defaults, signal);
  ::posix_spawnattr_setsigmask(&attributes, &none);
  ::posix_spawnattr_setsigdefault(&attributes, &defaults);
  ::posix_spawnattr_setpgroup(&attributes, 0);
  const int group = own_group ? POSIX_SPAWN_SETPGROUP : 0;
  ::posix_spawnattr_setflags(&attributes,
                             static_cast<short>(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | group));
  std::vector<char*> argv;
  std::string name = program.string();
  argv.push_back(name.data());
  std::vector<std::string> copies = arguments;
  for (auto& argument : copies) argv.push_back(argument.data());
  argv.push_back(nullptr);
  pid_t pid = -1;
  const int reason = ::posix_spawn(&pid, program.c_str(), &actions, &attributes, argv.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  ::posix_spawnattr_destroy(&attributes);
  if (reason != 0) fail("cannot be started", reason, program);
  return pid;
}

ExitStatus decode(int status) {
  if (WIFSIGNALED(status)) return {.code = 0, .signal = WTERMSIG(status)};
  return {.code = WEXITSTATUS(status), .signal = 0};
}

ExitStatus wait_for(pid_t pid) {
  int raw = 0;
  while (::waitpid(pid, &raw, 0) < 0 && errno == EINTR) {
  }
  return decode(raw);
}

}  // namespace

std::string ExitStatus::text() const {
  if (signal != 0) return fmt::format("signal {} ({})", signal, ::strsignal(signal));
  return fmt::format("exit status {}", code);
}

WorkerProcess::WorkerProcess(boost::asio::io_context& io, const fs::path& program,
                             const std::vector<std::string>& arguments, const fs::path& stderr_file,
                             OnLine on_line)
    : output_(io), on_line_(std::move(on_line)) {
  Pipe in(program), out(program);
  Descriptor log(::open(stderr_file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
  if (log.get() < 0) fail("cannot open", errno, stderr_file);
  pid_ = spawn(program, arguments, in.read.get(), out.write.get(), log.get(), true);
  input_ = in.write.release();
  ::fcntl(out.read.get(), F_SETFL, O_NONBLOCK);
  output_.assign(out.read.release());
  read_more();
}

WorkerProcess::~WorkerProcess() {
  *reading_ = false;
  close_input();
  if (reaped_) return;
  kill();
  ::waitpid(pid_, nullptr, 0);
}

void WorkerProcess::close_input() {
  if (input_ >= 0) ::close(std::exchange(input_, -1));
}

void WorkerProcess::kill() {
  // The group may not exist yet in the instant after the start: then the process itself is meant.
  if (!reaped_ && ::kill(-pid_, SIGKILL) != 0) ::kill(pid_, SIGKILL);
}

bool WorkerProcess::ended(ExitStatus& status) {
  if (!reaped_) {
    int raw = 0;
    const pid_t got = ::waitpid(pid_, &raw, WNOHANG);
    if (got != pid_) return false;
    status_ = decode(raw);
    // Its own children (scorers) end with their pipes and keepers; what is left of the group is not waited
    // for.
    ::kill(-pid_, SIGKILL);
    reaped_ = true;
    drain();
  }
  status = status_;
  return true;
}

void WorkerProcess::read_more() {
  const auto handle = [this, reading = reading_](const boost::system::error_code& error) {
    if (error || !*reading) return;
    if (take()) read_more();
  };
  output_.async_wait(boost::asio::posix::stream_descriptor::wait_read, handle);
}

bool WorkerProcess::take() {
  const auto got = ::read(output_.native_handle(), buffer_.data(), buffer_.size());
  if (got < 0) return errno == EINTR || errno == EAGAIN;
  if (got == 0) return false;
  partial_.append(buffer_.data(), static_cast<std::size_t>(got));
  std::size_t begin = 0;
  for (auto end = partial_.find('\n'); end != std::string::npos; end = partial_.find('\n', begin)) {
    on_line_(std::string_view(partial_).substr(begin, end - begin));
    begin = end + 1;
  }
  partial_.erase(0, begin);
  return true;
}

void WorkerProcess::drain() {
  *reading_ = false;
  boost::system::error_code ignored;
  output_.cancel(ignored);
  errno = 0;
  while (take() && errno != EAGAIN) {
  }
}

std::string run_program(const fs::path& program, const std::vector<std::string>& arguments,
                        ExitStatus& status) {
  Pipe out(program);
  const pid_t pid = spawn(program, arguments, -1, out.write.get(), -1, false);
  out.write.reset();
  std::string text;
  std::array<char, 4096> buffer{};
  for (;;) {
    const auto got = ::read(out.read.get(), buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    text.append(buffer.data(), static_cast<std::size_t>(got));
  }
  status = wait_for(pid);
  return text;
}

std::string tail_of_file(const fs::path& file, std::size_t lines) {
  std::ifstream in(file, std::ios::binary | std::ios::ate);
  if (!in) return {};
  constexpr std::streamoff kWindow = 64 << 10;
  in.seekg(std::max<std::streamoff>(0, in.tellg() - kWindow));
  std::deque<std::string> last;
  for (std::string line; std::getline(in, line);) {
    last.push_back(line);
    if (last.size() > lines) last.pop_front();
  }
  std::string text;
  for (const auto& line : last) text += (text.empty() ? "" : "\n") + line;
  return text;
}

}  // namespace harness
