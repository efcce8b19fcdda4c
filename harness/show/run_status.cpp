#include "harness/show/run_status.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <iterator>
#include <tuple>

#include "core/error.h"
#include "core/event_log.h"
#include "core/streams.h"
#include "core/text.h"
#include "harness/batch/submission.h"
#include "harness/plan/asked_runs.h"
#include "harness/read/known_runs.h"
#include "harness/show/job_log.h"
#include "harness/spec/table_spec.h"
#include "harness/workspace/lock_holder.h"
#include "results/store/journal.h"

namespace harness {
namespace fs = std::filesystem;
namespace {

/// A job of a run: its training, or an evaluation.
struct JobOfRun {
  RunPart part = RunPart::kTrain;
  std::optional<std::int64_t> checkpoint = {};
  std::optional<std::int64_t> total = {};  ///< updates, or images
  std::string id = {};                     ///< empty: not recorded yet
  fs::path folder = {};
  ReadLog log = {};
  std::string queue = {};  ///< RunStatus::queue

  bool is_training() const { return part == RunPart::kTrain; }
  std::int64_t left() const {
    return log.state == ReadLog::kDone ? 0 : std::max<std::int64_t>(0, total.value_or(0) - log.done);
  }
};

/// A run with all that was read of it.
struct ReadRun : RunStatus {
  std::vector<JobOfRun> parts = {};
  double images_of_update = 0;  ///< 0: unknown from its settings

  /// How many evaluated images take the time of an update, or of an image.
  double units_each(const JobOfRun& job) const {
    return job.is_training() ? kEvaluatedPerTrained * std::max(1.0, images_of_update) : 1;
  }
  /// The first part in this state; nullptr for none.
  const JobOfRun* first(ReadLog::State wanted) const {
    const auto found = std::ranges::find(parts, wanted, [](const JobOfRun& job) { return job.log.state; });
    return found == parts.end() ? nullptr : &*found;
  }
};

/// Reads the state of runs.
class Reading {
 public:
  /// `has_runner`: a command works here, or will.
  Reading(const Workspace& workspace, const RecordedRuns& records, const std::optional<AskedRuns>& asked,
          bool has_runner, QueueAnswers& queue)
      : workspace_(workspace), records_(records), asked_(asked), has_runner_(has_runner), queue_(queue) {}

  ReadRun read(const RecordedRun& known, std::vector<std::string>& notes) const {
    auto run = facts_of(known);
    try {
      for (auto& job : run.parts) {
        if (!job.id.empty()) read_log(run, job);
      }
    } catch (const std::exception& error) {  // damaged, or not ours to read
      notes.emplace_back(error.what());
    }
    settle(run, known.is_finished);
    return run;
  }

 private:
  ReadRun facts_of(const RecordedRun& known) const {
    const auto& record = known.record;
    auto folder = workspace_.run_folder(record.id);
    std::error_code absent;
    if (!fs::exists(folder, absent)) folder = record.folder;
    ReadRun run{{.id = record.id,
                 .table = record.table_id,
                 .scale = record.scale,
                 .backbone = record.backbone,
                 .method = record.method,
                 .row = record.arm,
                 .seed = record.seed,
                 .folder = folder,
                 .experiments = known.experiments}};
    const auto settings = record.config.value("settings", Json::object());
    const auto number = [&](const char* name, double otherwise = 0) {
      return settings.value(name, otherwise);
    };
    const double images = number("prompts_per_epoch") * number("group_size"),
                 updates_of_epoch = number("updates_per_epoch") * number("inner_epochs", 1);
    if (updates_of_epoch > 0) run.images_of_update = images / updates_of_epoch;
    if (const auto updates = settings.value("updates", std::int64_t{0}); updates > 0) run.updates = updates;
    if (row_traits(record.method).takes_a_worker)
      run.parts.push_back({.total = run.updates, .id = record.id, .folder = folder});
    add_evaluations(known, run);
    return run;
  }

  /// Those that were asked for last; of a run that was not, those recorded for its table. With other settings
  /// or prompts there may be several of a checkpoint: the last one counts.
  void add_evaluations(const RecordedRun& known, ReadRun& run) const {
    const auto part_of = [](const std::string& split) {
      return split == "test" ? RunPart::kTest : RunPart::kEvaluate;
    };
    const bool is_asked = asked_ && asked_->runs.contains(run.id);
    if (is_asked) {
      for (const auto& asked : asked_->runs.at(run.id))
        run.parts.push_back({.part = part_of(asked.split), .checkpoint = asked.step, .total = asked.images});
    }
    for (const auto& evaluation : known.evaluations) {
      if (evaluation.table_id != run.table || evaluation.scale != run.scale) continue;
      const auto part = part_of(evaluation.split);
      auto job = std::ranges::find_if(run.parts, [&](const JobOfRun& other) {
        return other.part == part && (part == RunPart::kTest || other.checkpoint == evaluation.step);
      });
      if (job == run.parts.end()) {
        if (is_asked) continue;
        job = run.parts.insert(run.parts.end(), {.part = part});
      }
      job->checkpoint = evaluation.step;
      job->total = evaluation.n;
      job->id = evaluation.id;
      job->folder = run.folder / fs::path(evaluation.folder).filename();
    }
  }

  void read_log(ReadRun& run, JobOfRun& job) const {
    auto& log = job.log = read_job_log(job.folder / kEventLog, job.is_training());
    if (job.is_training()) {
      if (log.done > 0) run.update = log.done;
      run.reward = log.reward;
    } else if (log.state == ReadLog::kDone) {
      log.done = job.total.value_or(0);
      if (log.wall_seconds && log.done > 0)
        log.seconds_each = *log.wall_seconds / static_cast<double>(log.done);
    }
    merge_queue_state(job);
    add_failure(job);
    if (log.last_event > 0) run.last_event = std::max(run.last_event.value_or(0), log.last_event);
  }

  /// A lock on another machine may not be seen here: the batch system knows.
  void merge_queue_state(JobOfRun& job) const {
    auto& log = job.log;
    if (log.state == ReadLog::kDone) return;
    const auto submission = read_submission(job.folder);
    const auto* queued = submission ? queue_.find(*submission) : nullptr;
    if (queued == nullptr || !queued->is_alive()) return;
    job.queue = queued->text();
    if (log.state == ReadLog::kFailed) log.state = ReadLog::kStopped;  // it goes on
    if (!queued->is_waiting() && log.state != ReadLog::kNotBegun) log.state = ReadLog::kRunning;
  }

  /// A worker that died could not report it: the orchestrator did. Neither counts where a command works here
  /// that was asked for it since.
  void add_failure(JobOfRun& job) const {
    auto& log = job.log;
    const auto was_asked_again = [&](const std::string& failed) {
      return has_runner_ && asked_ && failed < asked_->at;
    };
    const auto last_event = utc_text(log.last_event);
    if (log.state == ReadLog::kFailed && was_asked_again(last_event)) log.state = ReadLog::kStopped;
    const auto found = records_.failures.find(job.id);
    if (found == records_.failures.end() || !job.queue.empty() || log.state == ReadLog::kRunning ||
        log.state == ReadLog::kDone)
      return;
    const auto& [recorded, what] = found->second;
    if (recorded < last_event || was_asked_again(recorded)) return;
    log.state = ReadLog::kFailed;
    log.failure = what;
  }

  /// What the states of its parts make of a run.
  void settle(ReadRun& run, bool is_finished) const {
    for (const auto& job : run.parts) {
      const bool is_done = job.log.state == ReadLog::kDone;
      run.jobs_done += is_done ? 1 : 0;
      if (run.queue.empty() && !is_done) run.queue = job.queue;
    }
    run.jobs = std::ssize(run.parts);
    if (const auto* job = run.first(ReadLog::kRunning)) {
      run.state = RunState::kRunning;
      run.process = job->log.process;
      measure(run, *job);
      return show(run, *job);
    }
    if (is_finished || (run.jobs > 0 && run.jobs_done == run.jobs)) {
      run.state = RunState::kDone;
      return;
    }
    if (const auto* job = run.first(ReadLog::kFailed)) {
      run.state = RunState::kFailed;
      run.failure = job->log.failure;
      return show(run, *job);
    }
    const auto* stopped = run.first(ReadLog::kStopped);
    if (run.jobs_done == 0 && stopped == nullptr) return;  // it waits
    if (!has_runner_ && run.queue.empty()) run.state = RunState::kInterrupted;
    const auto* next = stopped != nullptr ? stopped : run.first(ReadLog::kNotBegun);
    if (next == stopped || next->part != RunPart::kTest) return show(run, *next);
    run.part = row_traits(run.method).is_start ? RunPart::kTest : RunPart::kSelect;
  }

  static void show(RunStatus& run, const JobOfRun& job) {
    run.part = job.part;
    if (job.is_training()) return;
    run.checkpoint = job.checkpoint;
    run.images = job.log.done;
    run.images_total = job.total;
  }

  /// Images a second and time left of the job that runs.
  static void measure(ReadRun& run, const JobOfRun& job) {
    using Seconds = std::chrono::duration<double>;
    const double each = job.log.seconds_each.value_or(0),
                 images = job.is_training() ? run.images_of_update : 1;
    if (each <= 0) return;
    if (images > 0) run.images_per_second = images / each;
    const double now = Seconds(std::chrono::system_clock::now().time_since_epoch()).count();
    run.eta_seconds = std::max(0.0, static_cast<double>(job.left()) * each - (now - job.log.last_event));
  }

  const Workspace& workspace_;
  const RecordedRuns& records_;
  const std::optional<AskedRuns>& asked_;
  bool has_runner_;
  QueueAnswers& queue_;
};

/// Seconds that the workers which run take for all that is left, each as fast as what was measured: training
/// guessed from evaluations until it is, and the other way round. Nothing where nothing runs or was measured.
std::optional<double> eta_of(const std::vector<const ReadRun*>& runs) {
  std::array<double, 2> seconds = {}, measured = {};  // per unit; of evaluations, of trainings
  double workers = 0, left = 0;
  for (const auto* run : runs) {
    workers += run->state == RunState::kRunning ? 1 : 0;
    for (const auto& job : run->parts) {
      if (!job.log.seconds_each) continue;
      seconds[job.is_training()] += *job.log.seconds_each / run->units_each(job);
      measured[job.is_training()] += 1;
    }
  }
  if (workers == 0 || measured[0] + measured[1] == 0) return std::nullopt;
  const auto pace_of = [&](bool training) {
    const auto of = static_cast<std::size_t>(measured[training] > 0 ? training : !training);
    return seconds[of] / measured[of];
  };
  for (const auto* run : runs) {
    for (const auto& job : run->parts) {
      const auto pace = pace_of(job.is_training()) * run->units_each(job);
      left += static_cast<double>(job.left()) * job.log.seconds_each.value_or(pace);
    }
  }
  return left / workers;
}

std::vector<ExperimentStatus> under_way_of(const std::vector<const ReadRun*>& runs) {
  std::vector<ExperimentStatus> experiments;
  const auto setting = [](const auto& of) { return std::tie(of.table, of.backbone, of.scale); };
  for (const auto* run : runs) {
    const auto is_its = [&](const auto& other) { return setting(other) == setting(*run); };
    if (std::ranges::any_of(experiments, is_its)) continue;
    std::vector<const ReadRun*> members;
    std::ranges::copy_if(runs, std::back_inserter(members),
                         [&](const ReadRun* other) { return is_its(*other); });
    auto& experiment = experiments.emplace_back(
        ExperimentStatus{.table = run->table, .backbone = run->backbone, .scale = run->scale});
    for (const auto* member : members) {
      experiment.jobs += member->jobs;
      experiment.jobs_done += member->jobs_done;
    }
    experiment.eta_seconds = eta_of(members);
  }
  return experiments;
}

/// The job that goes on with a detached table, if it waits; "" otherwise.
std::string continuation_of(const Workspace& workspace, QueueAnswers& queue) {
  const auto submission = read_submission(workspace.folder);
  const auto* job = submission ? queue.find(*submission) : nullptr;
  if (job == nullptr || job->name != submission->name || !job->is_alive()) return "";
  return fmt::format("{} ({})", job->id, job->is_waiting() ? job->reason : job->state);
}

}  // namespace

const QueuedJob* QueueAnswers::find(const Submission& submission) {
  if (!trouble_.empty()) return nullptr;
  name_ = submission.batch->names.name;
  try {
    return queues_.of(*submission.batch).find(submission.job);
  } catch (const Error& error) {
    trouble_ = error.problem();
    return nullptr;
  }
}

WorkspaceStatus read_status(const Workspace& workspace, StatusScope scope, QueueAnswers& queue) {
  std::error_code absent;
  if (!has_records(workspace)) {
    throw Error(
        fs::is_directory(workspace.folder, absent) ? "holds no runs" : "there is no workspace",
        workspace.folder.string(),
        fmt::format("begin with `harness reproduce --table sd35-ocr{}`, or name another folder with --out",
                    workspace.options));
  }
  if (!fs::exists(workspace.journal(), absent))
    throw Error("is missing, and it lists the runs", workspace.journal().string(), kJournalHint);
  WorkspaceStatus status;
  status.holder = lock_holder(workspace.folder / ".lock");
  const auto records = recorded_runs(read_journal(workspace.journal()).records);
  status.last = records.last;
  status.continuation = continuation_of(workspace, queue);
  const auto asked = asked_runs(workspace);
  const Reading reading(workspace, records, asked, status.holder || !status.continuation.empty(), queue);
  std::map<std::string, ReadRun> read;
  const auto read_once = [&](const std::string& id) -> const ReadRun& {
    const auto found = read.find(id);
    return found != read.end()
               ? found->second
               : read.emplace(id, reading.read(records.runs.at(id), status.notes)).first->second;
  };
  std::vector<const ReadRun*> current;
  std::vector<std::string> shown;
  for (const auto& id : records.order) {
    const bool is_finished = records.runs.at(id).is_finished;
    if (is_finished && scope != StatusScope::kAll) continue;  // what is finished is read where it is shown
    const auto& run = read_once(id);
    const bool is_wanted = !is_finished && (!asked || asked->runs.contains(id));
    if (is_wanted || run.state == RunState::kRunning) current.push_back(&run);
    if (scope != StatusScope::kCurrent) shown.push_back(id);
  }
  status.under_way = under_way_of(current);
  if (scope == StatusScope::kCurrent) {
    for (const auto* run : current) shown.push_back(run->id);
    if (shown.empty() && status.last) shown = status.last->runs;
  }
  for (const auto& id : shown) {
    if (records.runs.contains(id)) status.runs.push_back(read_once(id));
  }
  status.batch = queue.name();
  if (!queue.trouble().empty()) status.notes.push_back(queue.trouble());
  return status;
}

std::map<std::string, std::string> run_states(const Workspace& workspace) {
  std::map<std::string, std::string> states;
  if (!has_records(workspace)) return states;
  try {
    QueueAnswers queue;
    const auto status = read_status(workspace, StatusScope::kUnfinished, queue);
    for (const auto& note : status.notes) tell("note: {}\n", note);
    for (const auto& run : status.runs) {
      const bool is_queued = run.state == RunState::kWaiting && !run.queue.empty();
      states[run.id] = is_queued ? run.queue : run_state_name(run.state);
    }
  } catch (const Error& error) {
    tell("note: states are of training alone: {}\n", error.what());
  }
  return states;
}

std::string live_state(Store& store, const StoredRun& run, const std::map<std::string, std::string>& known) {
  if (const auto found = known.find(run.id); found != known.end()) return found->second;
  if (event_log_is_held(folder_of(store, run) / kEventLog)) return run_state_name(RunState::kRunning);
  if (run.state == JobState::kPlanned) return run_state_name(RunState::kWaiting);
  if (run.state == JobState::kRunning) return run_state_name(RunState::kInterrupted);
  return std::string(job_state_name(run.state));
}

std::string run_state_name(RunState state) {
  constexpr std::array kNames = {"waiting", "running", "interrupted", "failed", "done"};
  return kNames.at(static_cast<std::size_t>(state));
}

std::string run_part_name(RunPart part) {
  constexpr std::array kNames = {"", "train", "evaluate", "select", "test"};
  return kNames.at(static_cast<std::size_t>(part));
}

Json run_status_json(const RunStatus& run) {
  const auto text = [](const std::string& value) { return value.empty() ? Json() : Json(value); };
  return {{"name", run.id},
          {"table", run.table},
          {"scale", run.scale},
          {"backbone", run.backbone},
          {"method", run.method},
          {"row", run.row},
          {"seed", run.seed},
          {"state", run_state_name(run.state)},
          {"doing", text(run_part_name(run.part))},
          {"checkpoint", or_null(run.checkpoint)},
          {"update", or_null(run.update)},
          {"updates", or_null(run.updates)},
          {"images", or_null(run.images)},
          {"images_total", or_null(run.images_total)},
          {"reward", or_null(run.reward)},
          {"images_per_second", or_null(run.images_per_second)},
          {"eta_seconds", or_null(run.eta_seconds)},
          {"jobs_done", run.jobs_done},
          {"jobs", run.jobs},
          {"last_event", run.last_event ? Json(utc_text(*run.last_event)) : Json()},
          {"experiments", run.experiments},
          {"failure", text(run.failure)},
          {"process", run.process > 0 ? Json(run.process) : Json()},
          {"queue", run.queue.empty() ? Json() : Json(run.queue)},
          {"folder", run.folder.string()}};
}

}  // namespace harness
