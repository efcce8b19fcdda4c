#include "harness/run/scheduler.h"

#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <exception>
#include <fstream>
#include <iterator>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/event_log.h"
#include "core/host.h"
#include "core/json.h"
#include "core/text.h"
#include "harness/run/job_failure.h"
#include "harness/terminal/ctrl_c.h"

namespace harness {
namespace asio = boost::asio;
namespace fs = std::filesystem;
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds kTick{250};

milliseconds from_environment_ms(const char* name, milliseconds fallback) {
  return milliseconds(environment_number(name, 1, "milliseconds").value_or(fallback.count()));
}

bool is_ignored(int signal) {
  struct sigaction action {};
  return ::sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

/// What Asio lets go of, it leaves with the system's way to end.
struct HandsSigtermBack {
  ~HandsSigtermBack() { end_interrupted_on_sigterm(); }
};

class Scheduler {
 public:
  Scheduler(const SchedulerSettings& settings, Executor& executor, const SchedulerHooks& hooks,
            Progress& progress)
      : settings_(settings),
        executor_(executor),
        hooks_(hooks),
        progress_(progress),
        stop_signals_(io_),
        child_signal_(io_, SIGCHLD),
        timer_(io_) {
    for (const int signal : {SIGINT, SIGTERM}) stop_signals_.add(signal);
    if (!is_ignored(SIGHUP)) stop_signals_.add(SIGHUP);  // nohup: a closed terminal is no reason to stop
  }

  void run() {
    wait_for_stop_signal();
    wait_for_child_signal();
    wait_for_tick();
    guarded([this] { start_ready(); });
    while (!workers_.empty()) io_.run_one();
    progress_.clear();
    if (failure_) std::rethrow_exception(failure_);
    if (interrupted_) {
      throw Error("interrupted; completed work is saved", "", "repeat the command to go on",
                  Status::kInterrupted);
    }
  }

 private:
  /// Runs a step; its first failure stops the other workers and is what run() throws.
  template <class Step>
  void guarded(Step step) {
    try {
      step();
    } catch (...) {
      if (failure_) return;
      failure_ = std::current_exception();
      stop_all();
    }
  }

  bool stopping() const { return interrupted_ || failure_; }

  void start_ready() {
    while (!stopping() && static_cast<int>(workers_.size()) < settings_.jobs) {
      auto task = hooks_.next();
      if (!task) return;
      start(std::move(*task));
    }
  }

  void start(Task task) {
    workers_.push_back(
        executor_.start(io_, std::move(task),
                        [this](RunningJob& worker, std::string_view line) { handle_line(worker, line); }));
    const auto& started = workers_.back()->task;
    progress_.start(started.progress_key, started.label, executor_.how_started());
  }

  void handle_line(RunningJob& worker, std::string_view line) {
    worker.last_sign = Clock::now();
    worker.has_reported = true;
    if (line == "wake") worker.log_has_grown = true;
    constexpr std::string_view kNote = "note ";
    if (line.starts_with(kNote))
      progress_.say(fmt::format("note: {}: {}", worker.task.label, line.substr(kNote.size())));
    constexpr std::string_view kProgress = "progress ";
    if (line.substr(0, kProgress.size()) != kProgress) return;
    const auto value = Json::parse(line.substr(kProgress.size()), nullptr, false);
    if (!value.is_object()) return;
    progress_.update(worker.task.progress_key, {.done = value.value("done", 0.0),
                                                .total = value.value("total", 0.0),
                                                .unit = value.value("unit", ""),
                                                .text = value.value("text", ""),
                                                .images = value.value("images", 0.0)});
  }

  void wait_for_stop_signal() {
    stop_signals_.async_wait([this](const boost::system::error_code& error, int signal) {
      if (error) return;
      if (const auto other = executor_.goes_on_with_jobs(); other && !interrupted_) {
        progress_.say(fmt::format("{} continues the table; `harness runs cancel` ends it", *other));
        leave_jobs();
      } else if (signal == SIGHUP && executor_.jobs_outlive_us()) {
        leave_jobs();
      } else if (interrupted_) {
        progress_.say("stopping at once");
        for (auto& worker : workers_) worker->kill();
      } else {
        interrupt("");
      }
      wait_for_stop_signal();
    });
  }

  /// They go on, and the next command takes up what they leave.
  void leave_jobs() {
    interrupted_ = true;
    workers_.clear();
  }

  void interrupt(const std::string& why) {
    interrupted_ = true;
    if (!workers_.empty())
      progress_.say(why + "stopping after the current shard; interrupt again to stop at once");
    stop_all();
  }

  void wait_for_child_signal() {
    child_signal_.async_wait([this](const boost::system::error_code& error, int) {
      if (error) return;
      reap();
      wait_for_child_signal();
    });
  }

  void wait_for_tick() {
    timer_.expires_after(kTick);
    timer_.async_wait([this](const boost::system::error_code& error) {
      if (error) return;
      ignore_time_suspended();
      if (!interrupted_ && hooks_.is_asked_to_stop && hooks_.is_asked_to_stop())
        interrupt("asked to by `harness runs cancel`: ");
      guarded([this] { poll_all(); });
      guarded([this] { ingest_grown(); });
      ignore_time_suspended();
      kill_the_silent_and_the_slow();
      reap();
      progress_.tick();
      wait_for_tick();
    });
  }

  void poll_all() {
    for (const auto& note : executor_.poll()) progress_.say(note);
    for (auto& worker : workers_) worker->poll();
  }

  void ingest_grown() {
    for (auto& worker : workers_) {
      if (std::exchange(worker->log_has_grown, false)) hooks_.ingest(worker->task);
    }
  }

  void stop_all() {
    stop_time_ = Clock::now();
    for (auto& worker : workers_) {
      try {  // a failed request does not keep others running
        worker->ask_to_stop();
      } catch (const Error& error) {
        progress_.say(error.what());
      }
    }
  }

  /// While this program stood still itself (stopped from the terminal, or waiting for a disk or a batch
  /// system), no heartbeat could arrive.
  void ignore_time_suspended() {
    const auto gap = Clock::now() - last_tick_;
    last_tick_ += gap;
    if (gap < 4 * kTick) return;
    for (auto& worker : workers_) worker->last_sign += gap;
  }

  void kill_the_silent_and_the_slow() {
    const auto now = Clock::now();
    for (auto& worker : workers_) {
      if (stopping() && now - stop_time_ > executor_.stop_limit()) worker->kill();
      if (executor_.jobs_outlive_us() || (!worker->has_reported && executor_.lets_jobs_wait())) continue;
      if (worker->silent || now - worker->last_sign < settings_.silence_limit) continue;
      worker->silent = true;
      worker->kill();
    }
  }

  void reap() {
    for (std::size_t i = 0; i < workers_.size();) {
      std::optional<ExitStatus> status;
      guarded([&] { status = workers_[i]->ended(); });
      if (!status) {
        ++i;
        continue;
      }
      const auto worker = std::move(workers_[i]);
      workers_.erase(workers_.begin() + static_cast<std::ptrdiff_t>(i));
      guarded([&] { conclude(*worker, *status); });
    }
    guarded([this] { start_ready(); });
  }

  /// What a worker's end means. The log is read in any case: what it finished counts.
  void conclude(const RunningJob& worker, const ExitStatus& status) {
    hooks_.ingest(worker.task);
    if (hooks_.complete(worker.task)) {
      progress_.finish(worker.task.progress_key);
      return;
    }
    if (interrupted_) return;
    if (failure_ && !worker.silent) return;
    if (status.code == static_cast<int>(Status::kInterrupted)) {
      throw Error("was asked to stop by a signal; completed work is saved", worker.task.label,
                  "repeat the command to go on", Status::kInterrupted);
    }
    if (const auto reported = reported_failure(worker.task, status, worker.log_begin)) throw *reported;
    const auto what = how_it_ended(worker, status);
    hooks_.failed(worker.task, what);
    throw death_of(worker.task, fmt::format("{} ({})", what, worker.name()), worker.log());
  }

  std::string how_it_ended(const RunningJob& worker, const ExitStatus& status) const {
    if (worker.silent) {
      const double seconds = std::chrono::duration<double>(settings_.silence_limit).count();
      return fmt::format("gave no sign of life for {:.0f} s and was killed", seconds);
    }
    return worker.how_it_ended(status);
  }

  const SchedulerSettings& settings_;
  Executor& executor_;
  const SchedulerHooks& hooks_;
  Progress& progress_;
  asio::io_context io_{1};
  asio::signal_set stop_signals_, child_signal_;
  asio::steady_timer timer_;
  std::vector<std::unique_ptr<RunningJob>> workers_;
  std::exception_ptr failure_;
  bool interrupted_ = false;
  Clock::time_point stop_time_, last_tick_ = Clock::now();
};

}  // namespace

SchedulerSettings SchedulerSettings::from_environment() {
  SchedulerSettings settings;
  settings.silence_limit = from_environment_ms("HARNESS_SILENCE_MS", settings.silence_limit);
  settings.stop_limit = from_environment_ms("HARNESS_STOP_MS", settings.stop_limit);
  return settings;
}

void run_scheduler(const SchedulerSettings& settings, Executor& executor, const SchedulerHooks& hooks,
                   Progress& progress) {
  const HandsSigtermBack after;
  Scheduler(settings, executor, hooks, progress).run();
}

}  // namespace harness
