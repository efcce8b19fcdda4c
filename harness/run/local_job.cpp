#include "harness/run/local_job.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <utility>

#include "core/error.h"
#include "core/event_log.h"
#include "core/processes/port.h"
#include "core/text.h"
#include "harness/run/job_failure.h"

namespace harness {
namespace asio = boost::asio;
namespace fs = std::filesystem;
namespace {

constexpr std::chrono::seconds kPatience{10};  // of a job that has lost a rank

Descriptor open_to_append(const fs::path& path) {
  Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
  if (file.get() >= 0) return file;
  throw Error(fmt::format("cannot open: {}", std::strerror(errno)), path.string(), {}, Status::kFailed);
}

/// Set for a single process, too: inherited values do not describe it. A launcher sets its own.
std::map<std::string, std::string> environment_of(int rank, const SchedulerSettings& settings,
                                                  std::uint16_t port) {
  const bool is_launched = !settings.launcher.empty();
  const auto shown = [&](const auto& value) {
    return is_launched ? std::string() : fmt::format("{}", value);
  };
  std::map<std::string, std::string> variables = {{"RANK", shown(rank)},
                                                  {"LOCAL_RANK", shown(rank)},
                                                  {"WORLD_SIZE", shown(settings.ranks)},
                                                  {"LOCAL_WORLD_SIZE", shown(settings.ranks)},
                                                  {"MASTER_PORT", shown(port)},
                                                  {"TORCHELASTIC_USE_AGENT_STORE", ""},
                                                  {"TORCHELASTIC_RESTART_COUNT", ""}};
  if (!settings.gpus.empty()) variables["CUDA_VISIBLE_DEVICES"] = join(settings.gpus, ",");
  if (!is_launched) variables["MASTER_ADDR"] = "127.0.0.1";  // users may set another name of the first node
  return variables;
}

/// Whether the launcher's log shows that the allocation is ending.
bool has_lost_its_allocation(const fs::path& log) {
  constexpr std::size_t kLines = 4;
  const auto tail = tail_of_file(log, kLines);
  return tail.find("Unable to create step") != std::string::npos &&
         tail.find("already completing or completed") != std::string::npos;
}

std::vector<std::string> words_of(const SchedulerSettings& settings, const Task& task) {
  auto words = settings.launcher;
  words.insert(words.end(), {settings.worker.string(), "run", task.folder.string()});
  return words;
}

}  // namespace

LocalJob::LocalJob(asio::io_context& io, const SchedulerSettings& settings, Task its_task, OnLine on_line)
    : LocalJob(io, settings, std::move(its_task), settings.ranks > 1 ? free_port() : std::uint16_t{0},
               std::move(on_line)) {}

LocalJob::LocalJob(asio::io_context& io, const SchedulerSettings& settings, Task its_task, std::uint16_t port,
                   OnLine on_line)
    : RunningJob(std::move(its_task)),
      root_(words_of(settings, task), {.environment = environment_of(0, settings, port),
                                       .in = kPipe,
                                       .out = kPipe,
                                       .err = open_to_append(task.folder / kWorkerLog).get(),
                                       .own_group = true}),
      is_launched_(!settings.launcher.empty()),
      output_(io, root_.out.release()),
      on_line_(std::move(on_line)) {
  for (int rank = 1; rank < settings.ranks && settings.launcher.empty(); ++rank) {
    const auto log = open_to_append(task.folder / fmt::format("worker.{}.log", rank));
    guests_.push_back(std::make_unique<Process>(
        words_of(settings, task), ProcessOptions{.environment = environment_of(rank, settings, port),
                                                 .in = kPipe,
                                                 .out = log.get(),
                                                 .err = log.get(),
                                                 .own_group = true}));
  }
  read_more();
}

LocalJob::~LocalJob() {
  *reading_ = false;
  if (on_gone) on_gone();
}

std::optional<ExitStatus> LocalJob::ended() {
  if (!root_.has_ended()) {
    fail_on_lost_rank();
    return std::nullopt;
  }
  const auto has_ended = [](const auto& guest) { return guest->has_ended(); };
  if (!std::ranges::all_of(guests_, has_ended)) {
    // They end by themselves once they miss rank 0, and leave its rendezvous last.
    if (!has_waited_enough()) return std::nullopt;
    for (auto& guest : guests_) guest->kill();
  }
  const auto status = root_.wait();
  drain();
  if (!status.ok() && is_launched_ && !has_reported && has_lost_its_allocation(RunningJob::log()))
    return ExitStatus{.code = static_cast<int>(Status::kInterrupted)};
  return status;
}

std::string LocalJob::name() const {
  return fmt::format("pid {}", root_.pid());
}

std::string LocalJob::how_it_ended(const ExitStatus& status) const {
  if (!lost_) return RunningJob::how_it_ended(status);
  return fmt::format("lost rank {}, which ended with {}", lost_->first, lost_->second.text());
}

fs::path LocalJob::log() const {
  return lost_ ? task.folder / fmt::format("worker.{}.log", lost_->first) : RunningJob::log();
}

void LocalJob::kill() {
  root_.kill();
  for (auto& guest : guests_) guest->kill();
}

void LocalJob::fail_on_lost_rank() {
  for (std::size_t i = 0; i < guests_.size() && !lost_; ++i) {
    if (!guests_[i]->has_ended()) continue;
    const auto status = guests_[i]->wait();
    const bool was_asked = status.code == static_cast<int>(Status::kInterrupted);
    if (!status.ok() && !was_asked) lost_ = {static_cast<int>(i) + 1, status};
  }
  if (lost_ && has_waited_enough()) kill();
}

bool LocalJob::has_waited_enough() {
  if (!alone_since_) alone_since_ = Clock::now();
  return Clock::now() - *alone_since_ >= kPatience;
}

void LocalJob::read_more() {
  const auto handle = [this, reading = reading_](const boost::system::error_code& error) {
    if (error || !*reading) return;
    if (take()) read_more();
  };
  output_.async_wait(asio::posix::stream_descriptor::wait_read, handle);
}

std::optional<std::size_t> LocalJob::take() {
  const auto bytes = read_some(output_.native_handle());
  if (!bytes) return std::nullopt;
  partial_ += *bytes;
  std::size_t begin = 0;
  for (auto end = partial_.find('\n'); end != std::string::npos; end = partial_.find('\n', begin)) {
    on_line_(*this, std::string_view(partial_).substr(begin, end - begin));
    begin = end + 1;
  }
  partial_.erase(0, begin);
  return bytes->size();
}

void LocalJob::drain() {
  *reading_ = false;
  boost::system::error_code ignored;
  output_.cancel(ignored);
  while (take().value_or(0) > 0) {
  }
}

}  // namespace harness
