// A table as the scheduler deals it to slots, on a clock that runs faster: scripts/simulate-plan.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "core/command_line/command_line.h"
#include "core/streams.h"
#include "harness/run/scheduler.h"

namespace harness {
namespace {

using Clock = RunningJob::Clock;

/// Seconds as SCALE of the real table has them: SD3.5 Medium at its paper's scale on one GPU.
struct Table {
  int methods = 16, seeds = 5, slots = 64, checkpoints = 3, updates = 80;
  double train = 772, validation = 96, test = 286;
  int at_a_time = 0;  ///< handed over; 0: all that are ready, and the queue deals them
  double speed = 40;  ///< simulated seconds in one of ours

  double run() const { return train + checkpoints * validation + test; }
  double work() const { return seeds * (methods * run() + validation + test); }
  /// No plan is faster: all slots are busy all the time, or a run's parts wait for one another.
  double lower_bound() const { return std::max(work() / slots, train + validation + test); }
};

struct Counts {
  std::int64_t starts = 0, ingests = 0;
  double busy = 0;  ///< simulated seconds of all slots
};

/// The slots, and who waits for one: first come, first served.
struct Queue {
  int free = 0;
  std::deque<class TimedJob*> waiting = {};
};

/// A job of known length, once it has a slot.
class TimedJob : public RunningJob {
 public:
  TimedJob(Task its_task, double seconds, int reports, Queue& queue)
      : RunningJob(std::move(its_task)), seconds_(seconds), reports_(reports), queue_(queue) {
    queue_.waiting.push_back(this);
  }

  void begin() { begin_ = Clock::now(); }
  void look() override {
    last_sign = Clock::now();
    const auto due = static_cast<int>(share() * reports_);
    log_has_grown = due > std::exchange(reported_, due);
  }
  std::optional<ExitStatus> ended() override {
    if (share() < 1) return std::nullopt;
    ++queue_.free;
    return ExitStatus{};
  }
  void ask_to_stop() override {}
  void kill() override {}
  std::string name() const override { return "simulated"; }

 private:
  double share() const {
    return begin_ ? std::min(1.0, std::chrono::duration<double>(Clock::now() - *begin_).count() / seconds_)
                  : 0;
  }

  const double seconds_;
  const int reports_;
  int reported_ = 0;
  Queue& queue_;
  std::optional<Clock::time_point> begin_;
};

/// The jobs of the table in their order, as PlanRunner hands them out.
class Chain {
 public:
  explicit Chain(const Table& table) : table_(table) {
    for (int seed = 0; seed < table.seeds; ++seed) {
      runs_.push_back({.is_base = true});
      for (int method = 0; method < table.methods; ++method) runs_.push_back({});
    }
  }

  std::optional<Task> next() {
    for (std::size_t i = 0; i < runs_.size(); ++i) {
      if (auto part = runs_[i].next(table_.checkpoints)) {
        const auto id = fmt::format("{} {}", i, *part);
        return Task{.id = id, .label = id, .folder = {}, .progress_key = id};
      }
    }
    return std::nullopt;
  }
  void done(const Task& task) {
    const auto blank = task.id.find(' ');
    runs_[static_cast<std::size_t>(std::stoi(task.id.substr(0, blank)))].finish(task.id.substr(blank + 1));
  }
  double seconds_of(const Task& task) const {
    const auto part = task.id.substr(task.id.find(' ') + 1);
    return part == "train" ? table_.train : part == "test" ? table_.test : table_.validation;
  }

 private:
  struct Run {
    bool is_base = false, trained = false;
    int begun = 0, validated = 0;
    bool has_train = false, has_test = false;

    std::optional<std::string> next(int checkpoints) {
      if (is_base) checkpoints = 1;
      if (!is_base && !std::exchange(has_train, true)) return "train";
      if (!is_base && !trained) return std::nullopt;
      if (begun < checkpoints) return fmt::format("validation {}", begun++);
      const bool may_test = is_base || validated == checkpoints;
      if (may_test && !std::exchange(has_test, true)) return "test";
      return std::nullopt;
    }
    void finish(const std::string& part) {
      trained = trained || part == "train";
      validated += part.starts_with("validation") ? 1 : 0;
    }
  };

  const Table& table_;
  std::vector<Run> runs_;
};

class SimulatedExecutor : public Executor {
 public:
  SimulatedExecutor(const Table& table, const Chain& chain, Counts& counts)
      : table_(table), chain_(chain), counts_(counts), queue_{.free = table.slots} {}

  std::unique_ptr<RunningJob> start(boost::asio::io_context&, Task task, RunningJob::OnLine) override {
    const double seconds = chain_.seconds_of(task);
    const bool is_training = task.id.ends_with("train");
    ++counts_.starts;
    counts_.busy += seconds;
    return std::make_unique<TimedJob>(std::move(task), seconds / table_.speed,
                                      is_training ? table_.updates : 8, queue_);
  }
  std::vector<std::string> look() override {
    for (; queue_.free > 0 && !queue_.waiting.empty(); --queue_.free) {
      queue_.waiting.front()->begin();
      queue_.waiting.pop_front();
    }
    return {};
  }
  std::chrono::milliseconds stop_limit() const override { return std::chrono::seconds(1); }

 private:
  const Table& table_;
  const Chain& chain_;
  Counts& counts_;
  Queue queue_;
};

int simulate(const Table& table) {
  Chain chain(table);
  Counts counts;
  SimulatedExecutor executor(table, chain, counts);
  SchedulerSettings settings;
  settings.jobs = table.at_a_time > 0 ? table.at_a_time : table.seeds * table.methods * 8;
  const SchedulerHooks hooks{.next = [&] { return chain.next(); },
                             .ingest = [&](const Task&) { ++counts.ingests; },
                             .complete =
                                 [&](const Task& task) {
                                   chain.done(task);
                                   return true;
                                 },
                             .failed = [](const Task&, const std::string&) {}};
  const auto begin = Clock::now();
  {
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> nowhere(std::fopen("/dev/null", "w"), &std::fclose);
    Progress progress(nowhere.get());
    run_scheduler(settings, executor, hooks, progress);
  }
  const double makespan = std::chrono::duration<double>(Clock::now() - begin).count() * table.speed;
  const double hours = makespan / 3600;
  put("{} methods x {} seeds on {} slots: {} jobs, makespan {:.0f} s, lower bound {:.0f} s (x {:.2f}), slots busy "
      "{:.0f} %\n",
      table.methods, table.seeds, table.slots, counts.starts, makespan, table.lower_bound(),
      makespan / table.lower_bound(), 100 * counts.busy / makespan / table.slots);
  put("a real hour: {:.0f} ends taken in and logs read, each one transaction; 360 squeue at 10 s; at most {} jobs "
      "watched, a log open at a time\n",
      static_cast<double>(counts.ingests) / hours, table.slots);
  return 0;
}

Command make_command() {
  auto table = std::make_shared<Table>();
  Command command{"simulate-plan", "Deal a table to slots on a clock that runs faster", ""};
  command.add("--methods", &table->methods, "trained rows");
  command.add("--seeds", &table->seeds, "runs of each");
  command.add("--slots", &table->slots, "jobs at a time");
  command.add("--jobs", &table->at_a_time, "jobs handed over at a time (default: all that are ready)");
  command.add("--speed", &table->speed, "simulated seconds per second");
  command.run = [table] { return simulate(*table); };
  return command;
}

}  // namespace
}  // namespace harness

int main(int count, char** words) {
  harness::prepare_streams();
  return harness::finished_status(harness::run_program(harness::make_command(), count, words));
}
