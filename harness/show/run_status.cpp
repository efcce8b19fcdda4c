#include "harness/show/run_status.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <set>
#include <utility>

#include "core/error.h"
#include "core/event_log.h"
#include "core/streams.h"
#include "core/text.h"
#include "harness/batch/submission.h"
#include "harness/plan/asked_runs.h"
#include "harness/plan/lock_holder.h"
#include "harness/show/job_log.h"
#include "harness/show/recorded_runs.h"
#include "results/store/journal.h"
#include "results/store/record_type.h"

namespace harness {
namespace fs = std::filesystem;
namespace {

double now_seconds() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

/// A training's shape, from its identity; 0 where that does not tell.
struct Shape {
  std::int64_t updates = 0, epoch = 0, images_of_epoch = 0;
  std::vector<std::int64_t> checkpoints = {};
};

Shape shape_of(const RunRecord& run) {
  const auto settings = run.config.value("settings", Json::object());
  const auto number = [&](const char* name) { return settings.value(name, std::int64_t{0}); };
  Shape shape{.updates = number("updates"),
              .epoch = number("updates_per_epoch") * settings.value("inner_epochs", std::int64_t{1}),
              .images_of_epoch = number("prompts_per_epoch") * number("group_size")};
  shape.checkpoints = settings.value("checkpoints", std::vector<std::int64_t>{});
  return shape;
}

/// A job of a run: its training, or an evaluation, which may not have been planned in detail yet.
struct JobOfRun {
  RunPart part = RunPart::kTrain;
  std::optional<std::int64_t> checkpoint = {};
  std::string queue = {};                  ///< RunStatus::queue
  std::optional<std::int64_t> total = {};  ///< images of an evaluation
  std::string id = {};                     ///< empty: not recorded yet
  ReadLog log = {};
  std::int64_t images = 0;
  std::optional<double> seconds_per_image = {};
};

/// A run with all that was read of it.
struct ReadRun {
  RunStatus status;
  std::vector<JobOfRun> jobs;
  Shape shape;
  std::optional<double> seconds_per_update = {};

  double images_of_update() const {
    return shape.epoch > 0 ? static_cast<double>(shape.images_of_epoch) / static_cast<double>(shape.epoch)
                           : 0;
  }

  std::int64_t updates_left() const {
    const bool trained =
        jobs.empty() || jobs.front().part != RunPart::kTrain || jobs.front().log.state == ReadLog::kDone;
    return trained ? 0 : std::max<std::int64_t>(0, shape.updates - status.update.value_or(0));
  }
};

/// What a table asks for beside training, as far as its runs show it.
struct Protocol {
  bool evaluates = false, tests = false;
  std::map<std::string, std::int64_t> images;  ///< of a split
};

/// What a batch system said last, which is asked only where a job may still be in its queue.
class QueueAnswer {
 public:
  /// Nothing where it does not answer.
  const BatchQueue* current(const Batch& batch) {
    using Clock = std::chrono::steady_clock;
    constexpr auto kLasts = std::chrono::seconds(10);
    if (batch_ != &batch) read_.reset();
    if (!read_ || Clock::now() - *read_ > kLasts) {
      if (std::exchange(batch_, &batch) != &batch) queue_.reset();
      read_ = Clock::now();
      trouble_.clear();
      try {
        if (!queue_) queue_ = std::make_unique<BatchQueue>(batch);
        queue_->read();
      } catch (const Error& error) {
        trouble_ = error.problem();
      }
    }
    return trouble_.empty() ? queue_.get() : nullptr;
  }
  /// Why it did not; "" where it did, or was not asked.
  const std::string& trouble() const { return trouble_; }
  std::string name() const { return batch_ != nullptr ? batch_->names.name : ""; }

 private:
  const Batch* batch_ = nullptr;
  std::unique_ptr<BatchQueue> queue_;
  std::optional<std::chrono::steady_clock::time_point> read_;
  std::string trouble_;
};

class Reading {
 public:
  /// `is_cared_for`: somebody works here, or will.
  Reading(const Workspace& workspace, const RecordedRuns& records, bool is_cared_for,
          const std::optional<AskedRuns>& asked, QueueAnswer& queue)
      : workspace_(workspace), records_(records), is_cared_for_(is_cared_for), asked_(asked), queue_(queue) {}

  ReadRun read(const RecordedRun& known, std::vector<std::string>& notes) const {
    ReadRun run{.status = facts_of(known), .jobs = {}, .shape = shape_of(known.record)};
    run.jobs = jobs_of(known, run.shape);
    try {
      read_logs(known, run);
    } catch (const std::exception& error) {  // damaged, or not ours to read
      notes.emplace_back(error.what());
    }
    settle(run, known.is_finished);
    return run;
  }

 private:
  RunStatus facts_of(const RecordedRun& known) const {
    const auto& record = known.record;
    auto folder = workspace_.run_folder(record.id);
    std::error_code absent;
    if (!fs::exists(folder, absent)) folder = record.folder;
    return {.id = record.id,
            .table = record.table_id,
            .scale = record.scale,
            .backbone = record.backbone,
            .method = record.method,
            .row = record.arm,
            .seed = record.seed,
            .folder = folder,
            .experiments = known.experiments};
  }

  /// The starting weights, which come first and are tested at once, show what the table asks for.
  Protocol protocol_of(const RecordedRun& run) const {
    Protocol protocol;
    bool others_begun = false;
    for (const auto& id : records_.order) {
      const auto& other = records_.runs.at(id);
      if (!other.is_beside(run)) continue;
      protocol.evaluates = protocol.evaluates || other.is_base();
      std::error_code absent;
      others_begun =
          others_begun || (!other.is_base() && fs::exists(workspace_.run_folder(id) / kJobFile, absent));
      for (const auto& evaluation : other.evaluations) {
        protocol.images[evaluation.split] = evaluation.n;
        protocol.tests = protocol.tests || evaluation.split == "test";
      }
    }
    protocol.tests = protocol.tests || (protocol.evaluates && !others_begun);
    return protocol;
  }

  std::vector<JobOfRun> jobs_of(const RecordedRun& run, const Shape& shape) const {
    std::vector<JobOfRun> jobs;
    if (takes_a_worker(run.record.method)) jobs.push_back({.id = run.record.id});
    const auto protocol = protocol_of(run);
    if (!protocol.evaluates && run.evaluations.empty()) return jobs;
    const auto add = [&](RunPart part, const std::string& split, std::optional<std::int64_t> step) {
      JobOfRun job{.part = part, .checkpoint = step};
      if (const auto n = protocol.images.find(split); n != protocol.images.end()) job.total = n->second;
      // The last one that was asked for: with other settings or prompts there may be several.
      for (const auto& evaluation : run.evaluations) {
        if (evaluation.split != split || (step && evaluation.step != *step)) continue;
        if (evaluation.table_id != run.record.table_id || evaluation.scale != run.record.scale) continue;
        job.id = evaluation.id;
        job.checkpoint = evaluation.step;
        job.total = evaluation.n;
      }
      jobs.push_back(std::move(job));
    };
    auto steps = run.is_base() ? std::vector<std::int64_t>{0} : shape.checkpoints;
    if (run.record.method == kImagesMethod && steps.size() == 1) steps.clear();  // there is nothing to choose
    for (const auto step : steps) add(RunPart::kEvaluate, "validation", step);
    if (protocol.tests) add(RunPart::kTest, "test", {});
    return jobs;
  }

  /// `eval-<split>-<step>-<id>`
  static fs::path folder_of(const ReadRun& run, const RecordedRun& known, const JobOfRun& job) {
    for (const auto& evaluation : known.evaluations) {
      if (evaluation.id == job.id) return run.status.folder / fs::path(evaluation.folder).filename();
    }
    return run.status.folder;
  }

  void read_logs(const RecordedRun& known, ReadRun& run) const {
    for (auto& job : run.jobs) {
      if (job.id.empty()) continue;
      const auto folder = folder_of(run, known, job);
      const auto log = folder / kEventLog;
      if (job.part == RunPart::kTrain) {
        read_training(log, run, job);
      } else {
        read_evaluation(log, job);
      }
      heed_queue(folder, job);
      add_failure(job);
      if (job.log.last_event > 0)
        run.status.last_event = std::max(run.status.last_event.value_or(0), job.log.last_event);
    }
  }

  static void read_training(const fs::path& log, ReadRun& run, JobOfRun& job) {
    const auto training = read_training_log(log, run.shape.epoch);
    job.log = training;
    run.status.update = training.update;
    run.status.reward = training.reward;
    run.seconds_per_update = training.seconds_per_update;
    if (run.shape.updates > 0) run.status.updates = run.shape.updates;
  }

  static void read_evaluation(const fs::path& log, JobOfRun& job) {
    const auto evaluation = read_evaluation_log(log);
    job.log = evaluation;
    job.images = evaluation.state == ReadLog::kDone ? job.total.value_or(0) : evaluation.images;
    job.seconds_per_image = evaluation.seconds_per_image;
    if (evaluation.state == ReadLog::kDone && evaluation.wall_seconds && job.images > 0)
      job.seconds_per_image = *evaluation.wall_seconds / static_cast<double>(job.images);
  }

  /// A lock on another machine may not be seen here: the batch system knows.
  void heed_queue(const fs::path& folder, JobOfRun& job) const {
    if (job.log.state == ReadLog::kDone) return;
    const auto submission = read_submission(folder);
    const auto* queue = submission ? queue_.current(*submission->batch) : nullptr;
    if (queue == nullptr) return;
    const auto* queued = queue->find(submission->job);
    if (queued == nullptr || !queued->is_alive()) return;
    job.queue = queued->text();
    if (job.log.state == ReadLog::kFailed) job.log.state = ReadLog::kStopped;  // it goes on
    if (!queued->is_waiting() && job.log.state != ReadLog::kNotBegun) job.log.state = ReadLog::kRunning;
  }

  /// A worker that died could say nothing: the orchestrator did, unless somebody went on since.
  void add_failure(JobOfRun& job) const {
    const auto was_asked_again = [&](const std::string& failed) {
      return is_cared_for_ && asked_ && failed < asked_->at;
    };
    if (job.log.state == ReadLog::kFailed && was_asked_again(utc_text(job.log.last_event)))
      job.log.state = ReadLog::kStopped;
    const auto found = records_.failures.find(job.id);
    if (found == records_.failures.end() || !job.queue.empty()) return;
    if (job.log.state == ReadLog::kRunning || job.log.state == ReadLog::kDone) return;
    if (found->second.recorded < utc_text(job.log.last_event)) return;
    if (was_asked_again(found->second.recorded)) return;
    job.log.state = ReadLog::kFailed;
    job.log.failure = found->second.what;
  }

  /// What the states of its jobs make of a run.
  void settle(ReadRun& run, bool is_finished) const {
    auto& status = run.status;
    for (const auto& job : run.jobs) {
      if (status.queue.empty() && job.log.state != ReadLog::kDone) status.queue = job.queue;
    }
    status.jobs = std::ssize(run.jobs);
    status.jobs_done =
        std::ranges::count_if(run.jobs, [](const JobOfRun& job) { return job.log.state == ReadLog::kDone; });
    const auto first = [&](ReadLog::State state) {
      return std::ranges::find_if(run.jobs, [&](const JobOfRun& job) { return job.log.state == state; });
    };
    if (const auto job = first(ReadLog::kRunning); job != run.jobs.end()) {
      status.state = RunState::kRunning;
      status.process = job->log.process;
      show(run, *job);
      return measure(run, *job);
    }
    if (status.jobs_done == status.jobs || is_finished) {
      status.state = RunState::kDone;
      return;
    }
    if (const auto job = first(ReadLog::kFailed); job != run.jobs.end()) {
      status.state = RunState::kFailed;
      status.failure = job->log.failure;
      return show(run, *job);
    }
    const bool is_begun = status.jobs_done > 0 || first(ReadLog::kStopped) != run.jobs.end();
    const bool is_cared_for = is_cared_for_ || !status.queue.empty();
    status.state = is_begun && !is_cared_for ? RunState::kInterrupted : RunState::kWaiting;
    if (!is_begun) return;
    if (const auto job = first(ReadLog::kStopped); job != run.jobs.end()) return show(run, *job);
    const auto& next = *first(ReadLog::kNotBegun);
    if (next.part != RunPart::kTest) return show(run, next);
    status.part = status.is_base() ? RunPart::kTest : RunPart::kSelect;
  }

  static void show(ReadRun& run, const JobOfRun& job) {
    run.status.part = job.part;
    if (job.part == RunPart::kTrain) return;
    run.status.checkpoint = job.checkpoint;
    run.status.images = job.images;
    run.status.images_total = job.total;
  }

  /// Images a second and time left of the job that runs.
  static void measure(ReadRun& run, const JobOfRun& job) {
    auto& status = run.status;
    double left = 0;
    std::optional<double> each = job.seconds_per_image;
    if (job.part == RunPart::kTrain) {
      each = run.seconds_per_update;
      left = static_cast<double>(run.updates_left());
      if (each && *each > 0 && run.images_of_update() > 0)
        status.images_per_second = run.images_of_update() / *each;
    } else {
      if (!job.total) return;
      left = static_cast<double>(*job.total - job.images);
      if (each && *each > 0) status.images_per_second = 1 / *each;
    }
    if (!each) return;
    status.eta_seconds = std::max(0.0, left * *each - (now_seconds() - job.log.last_event));
  }

  const Workspace& workspace_;
  const RecordedRuns& records_;
  bool is_cared_for_;
  const std::optional<AskedRuns>& asked_;
  QueueAnswer& queue_;
};

/// Mean seconds of an update and of an image, over runs of a table.
struct Pace {
  std::optional<double> update = {}, image = {};

  /// Of this run; each guessed from the other until it is measured.
  std::optional<double> update_of(const ReadRun& run) const {
    if (const auto measured = measured_update_of(run)) return measured;
    if (!image || run.images_of_update() == 0) return std::nullopt;
    return *image * kEvaluatedPerTrained * run.images_of_update();
  }
  std::optional<double> image_of(const ReadRun& run) const {
    const auto measured = measured_update_of(run);
    if (image || !measured || run.images_of_update() == 0) return image;
    return *measured / run.images_of_update() / kEvaluatedPerTrained;
  }
  std::optional<double> measured_update_of(const ReadRun& run) const {
    return run.seconds_per_update ? run.seconds_per_update : update;
  }
};

Pace pace_of(const std::vector<const ReadRun*>& runs) {
  double updates = 0, update_seconds = 0, images = 0, image_seconds = 0;
  for (const auto* run : runs) {
    if (run->seconds_per_update) {
      updates += 1;
      update_seconds += *run->seconds_per_update;
    }
    for (const auto& job : run->jobs) {
      if (!job.seconds_per_image) continue;
      images += static_cast<double>(job.images);
      image_seconds += *job.seconds_per_image * static_cast<double>(job.images);
    }
  }
  Pace pace;
  if (updates > 0) pace.update = update_seconds / updates;
  if (images > 0) pace.image = image_seconds / images;
  return pace;
}

/// Seconds that one worker would take for what is left; nothing where nothing was measured.
std::optional<double> seconds_left(const ReadRun& run, const Pace& pace) {
  double seconds = 0;
  for (const auto& job : run.jobs) {
    if (job.log.state == ReadLog::kDone) continue;
    if (job.log.state == ReadLog::kRunning && run.status.eta_seconds) {
      seconds += *run.status.eta_seconds;
    } else if (job.part == RunPart::kTrain) {
      const auto each = pace.update_of(run);
      if (!each) return std::nullopt;
      seconds += *each * static_cast<double>(run.updates_left());
    } else {
      const auto each = pace.image_of(run);
      if (!each || !job.total) return std::nullopt;
      seconds += *each * static_cast<double>(*job.total - job.images);
    }
  }
  return seconds;
}

std::optional<double> eta_of(const std::vector<const ReadRun*>& runs) {
  const auto pace = pace_of(runs);
  double seconds = 0;
  std::int64_t workers = 0;
  for (const auto* run : runs) {
    const auto left = seconds_left(*run, pace);
    if (!left) return std::nullopt;
    seconds += *left;
    workers += run->status.state == RunState::kRunning ? 1 : 0;
  }
  return workers > 0 ? std::optional(seconds / static_cast<double>(workers)) : std::nullopt;
}

std::vector<ExperimentStatus> under_way_of(const std::vector<const ReadRun*>& runs) {
  std::vector<ExperimentStatus> experiments;
  std::vector<std::vector<const ReadRun*>> members;
  for (const auto* run : runs) {
    const auto& status = run->status;
    auto found = std::ranges::find_if(experiments, [&](const ExperimentStatus& other) {
      return other.table == status.table && other.backbone == status.backbone && other.scale == status.scale;
    });
    if (found == experiments.end()) {
      experiments.push_back({.table = status.table, .backbone = status.backbone, .scale = status.scale});
      members.emplace_back();
      found = experiments.end() - 1;
    }
    found->jobs += status.jobs;
    found->jobs_done += status.jobs_done;
    members[static_cast<std::size_t>(found - experiments.begin())].push_back(run);
  }
  for (std::size_t i = 0; i < experiments.size(); ++i) experiments[i].eta_seconds = eta_of(members[i]);
  return experiments;
}

/// Whether the experiment that it was begun for may still be finished: one of the runs that were asked for
/// last. Where that is not known, what was left before another experiment was finished has been given up,
/// unless somebody works on it.
bool is_current(const RunStatus& run, const RecordedRun& known, const RecordedRuns& records,
                const std::optional<AskedRuns>& asked) {
  if (run.state == RunState::kRunning) return true;
  if (known.is_finished) return false;
  if (asked) return asked->ids.contains(run.id);
  const auto last_sign = std::max(known.recorded, utc_text(run.last_event.value_or(0)));
  return last_sign >= records.last_recorded;
}

}  // namespace

bool RunStatus::is_base() const {
  return method == kBaseMethod;
}

struct StatusReader::Impl {
  Workspace workspace;
  std::vector<Json> journal = {};  ///< without prompts, which are most of it
  std::uint64_t offset = 0;        ///< how much of it was read
  std::size_t lines = 0;           ///< likewise
  RecordedRuns records = {};
  QueueAnswer queue = {};

  /// Reads what was written since the last time.
  void read_on() {
    const auto file = workspace.journal();
    std::error_code absent;
    const auto size = fs::file_size(file, absent);
    if (absent) throw Error("is missing, and it lists the runs", file.string(), kJournalHint);
    if (size < offset) {  // written anew
      journal.clear();
      offset = lines = 0;
    }
    const auto before = offset;
    try {
      Events events(file, offset);
      for (auto& event : events) {
        require_whole_record(event, file, ++lines);
        offset = events.mark().bytes;
        if (record_type(event) != RecordType::kPromptSet) journal.push_back(std::move(event));
      }
    } catch (const Error& error) {
      throw Error(error.problem(), error.where(), kJournalHint);
    }
    if (offset != before) records = recorded_runs(journal);
  }

  WorkspaceStatus read(StatusScope scope) {
    WorkspaceStatus status;
    status.holder = lock_holder(workspace.folder / ".lock");
    try {
      read_on();
    } catch (const Error& error) {
      if (records.order.empty()) throw;
      status.notes.emplace_back(error.what());
    }
    status.continuation = continuation();
    const auto asked = asked_runs(workspace);
    const Reading reading(workspace, records, status.holder || !status.continuation.empty(), asked, queue);
    std::map<std::string, ReadRun> read;
    std::vector<const ReadRun*> current;
    for (const auto& id : records.order) {
      const auto& known = records.runs.at(id);
      // What is finished is read where it is shown.
      if (known.is_finished && scope != StatusScope::kAll) continue;
      const auto& run = read.emplace(id, reading.read(known, status.notes)).first->second;
      if (is_current(run.status, known, records, asked)) current.push_back(&run);
    }
    status.under_way = under_way_of(current);
    if (records.last) status.last = records.experiments[*records.last];
    for (const auto& id : shown(scope, current, status.last)) {
      if (!read.contains(id)) read.emplace(id, reading.read(records.runs.at(id), status.notes));
      status.runs.push_back(read.at(id).status);
    }
    status.batch = queue.name();
    if (!queue.trouble().empty()) status.notes.push_back(queue.trouble());
    return status;
  }

  /// The job that goes on with a detached table, if it waits; "" otherwise.
  std::string continuation() {
    const auto submission = read_submission(workspace.folder);
    const auto* known = submission ? queue.current(*submission->batch) : nullptr;
    const auto* job = known != nullptr ? known->find(submission->job) : nullptr;
    if (job == nullptr || job->name != submission->name || !job->is_alive()) return "";
    return fmt::format("{} ({})", job->id, job->is_waiting() ? job->reason : job->state);
  }

  std::vector<std::string> shown(StatusScope scope, const std::vector<const ReadRun*>& current,
                                 const std::optional<FinishedExperiment>& last) const {
    if (scope == StatusScope::kAll) return records.order;
    std::vector<std::string> ids;
    if (scope == StatusScope::kUnfinished) {
      std::ranges::copy_if(records.order, std::back_inserter(ids),
                           [&](const std::string& id) { return !records.runs.at(id).is_finished; });
      return ids;
    }
    for (const auto* run : current) ids.push_back(run->status.id);
    if (!ids.empty() || !last) return ids;
    std::ranges::copy_if(last->runs, std::back_inserter(ids),
                         [&](const std::string& id) { return records.runs.contains(id); });
    return ids;
  }
};

StatusReader::StatusReader(Workspace workspace) : impl_(new Impl{std::move(workspace)}) {
  const auto& place = impl_->workspace;
  if (has_records(place)) return;
  std::error_code absent;
  throw Error(
      fs::is_directory(place.folder, absent) ? "holds no runs" : "there is no workspace",
      place.folder.string(),
      fmt::format("begin with `harness reproduce --table sd35-ocr{}`, or name another folder with --out",
                  place.options));
}

StatusReader::~StatusReader() = default;

WorkspaceStatus StatusReader::read(StatusScope scope) {
  return impl_->read(scope);
}

std::map<std::string, std::string> run_states(const Workspace& workspace) {
  std::map<std::string, std::string> states;
  if (!has_records(workspace)) return states;
  try {
    const auto status = StatusReader(workspace).read(StatusScope::kUnfinished);
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

std::string run_state_name(RunState state) {
  switch (state) {
    case RunState::kWaiting:
      return "waiting";
    case RunState::kRunning:
      return "running";
    case RunState::kInterrupted:
      return "interrupted";
    case RunState::kFailed:
      return "failed";
    case RunState::kDone:
      return "done";
  }
  return {};
}

std::string run_part_name(RunPart part) {
  switch (part) {
    case RunPart::kNone:
      return {};
    case RunPart::kTrain:
      return "train";
    case RunPart::kEvaluate:
      return "evaluate";
    case RunPart::kSelect:
      return "select";
    case RunPart::kTest:
      return "test";
  }
  return {};
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
