#include "evaluators/scorer_process.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "core/processes/script.h"
#include "core/streams.h"
#include "core/text.h"

namespace harness {
namespace {

using std::chrono::milliseconds;

constexpr std::size_t kLongestLine = 1u << 20;
constexpr std::size_t kShownLine = 300;
/// Longer for a confined one, as all processes that it started end with it.
constexpr milliseconds kGrace{500}, kConfinedGrace{3000};

}  // namespace

ScorerProcess::ScorerProcess(const ScorerPoolSettings& options, int stop_fd)
    : process_(options.command, {.folder = options.folder,
                                 .environment = options.environment,
                                 .in = kPipe,
                                 .out = kPipe,
                                 .err = options.confined ? kPipe : kInherited,
                                 .own_group = true,
                                 .confined = options.confined,
                                 .hint = "check the scorer's path and that it may be executed"}),
      program_(options.folder / options.command[0]),
      stop_fd_(stop_fd),
      confined_(options.confined),
      forwardable_(options.forwarded) {}

ScorerProcess::~ScorerProcess() {
  process_.in.close();
  end(kGrace);
}

Exchange ScorerProcess::wait_for(int fd, short events, Deadline deadline) {
  while (true) {
    const auto left = std::chrono::ceil<milliseconds>(deadline - std::chrono::steady_clock::now()).count();
    if (left <= 0) return Exchange::kLate;
    pollfd watched[] = {{fd, events, 0},
                        {stop_fd_, POLLIN, 0},
                        {process_.err.get(), POLLIN, 0},
                        {process_.handle(), POLLIN, 0}};
    const int ready = ::poll(watched, 4, static_cast<int>(std::min<long>(left, 1 << 30)));
    if (ready < 0 && errno != EINTR) return Exchange::kEnded;
    if (ready <= 0) continue;
    if (watched[1].revents != 0) return Exchange::kStopped;
    if (watched[2].revents != 0) take_messages();
    if (watched[0].revents != 0) return Exchange::kDone;
    if (watched[3].revents == 0) continue;
    // It has ended. What it wrote before is there by now; a pipe that is still open is held by another
    // process.
    return ::poll(watched, 1, 0) > 0 ? Exchange::kDone : Exchange::kEnded;
  }
}

/// Reads once from its standard error; false if there is nothing now.
bool ScorerProcess::take_messages() {
  if (process_.err.get() < 0) return false;
  const auto bytes = read_some(process_.err.get());
  if (!bytes) process_.err.close();
  if (!bytes || bytes->empty()) return false;
  keep_last_line(*bytes);
  if (forwardable_ == 0) return true;
  forwardable_ -= std::min(forwardable_, bytes->size());
  tell("{}{}", *bytes, forwardable_ == 0 ? "\n[the scorer's further messages are dropped]\n" : "");
  return true;
}

void ScorerProcess::keep_last_line(std::string_view bytes) {
  for (const char c : bytes) {
    if (c != '\n') {
      if (next_line_.size() < kShownLine) next_line_ += c;
      continue;
    }
    if (!trim(next_line_).empty()) last_line_ = trim(next_line_);
    next_line_.clear();
  }
}

Exchange ScorerProcess::write(std::string_view bytes, Deadline deadline) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(process_.in.get(), bytes.data(), bytes.size());
    if (written >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno == EAGAIN) {
      const Exchange waited = wait_for(process_.in.get(), POLLOUT, deadline);
      if (waited != Exchange::kDone) return waited;
    } else if (errno != EINTR) {
      return Exchange::kEnded;
    }
  }
  return Exchange::kDone;
}

Exchange ScorerProcess::read_line(std::string& line, Deadline deadline) {
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
    const Exchange waited = wait_for(process_.out.get(), POLLIN, deadline);
    if (waited != Exchange::kDone) return waited;
    const auto bytes = read_some(process_.out.get());
    if (!bytes) return Exchange::kEnded;
    buffer_ += *bytes;
  }
}

bool ScorerProcess::has_output_or_ended() {
  pollfd watched{process_.out.get(), POLLIN, 0};
  return !buffer_.empty() || ::poll(&watched, 1, 0) != 0 || process_.has_ended();
}

void ScorerProcess::kill() {
  end(milliseconds(0));
}

void ScorerProcess::end(milliseconds grace) {
  // It might wait for us to read its messages.
  killed_ |= !process_.ends_within(grace, [this] { take_messages(); });
  process_.kill();
  process_.wait();
}

std::string ScorerProcess::how_it_ended(const std::string& when) {
  end(confined_ ? kConfinedGrace : kGrace);
  const auto& status = process_.wait();
  const auto how = killed_              ? "closed its output and was stopped"
                   : status.signal != 0 ? "ended by " + status.text()
                                        : fmt::format("ended with status {}", status.code);
  const auto fault = status.ok() ? std::nullopt : fault_of_script(program_);
  return how + when + last_message() + (fault ? "; " + *fault : "");
}

std::string ScorerProcess::last_message() {
  constexpr std::size_t kChunks = 256;
  for (std::size_t i = 0; i < kChunks && take_messages(); ++i) {
  }
  keep_last_line("\n");
  return last_line_.empty() ? "" : fmt::format("; its last message was {}", in_quotes(last_line_));
}

}  // namespace harness
