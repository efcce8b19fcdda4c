#include "harness/run/batch_executor.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <system_error>
#include <utility>

#include "core/error.h"
#include "core/event_log.h"
#include "core/files.h"
#include "core/json.h"
#include "core/text.h"
#include "harness/batch/submission.h"

namespace harness {
namespace fs = std::filesystem;
namespace {

using Clock = RunningJob::Clock;

/// A network file system may show a log later than the batch system an end, and its answers may
/// overtake one another.
constexpr std::chrono::seconds kPatience{60};
constexpr std::chrono::seconds kPollInterval{1};
constexpr int kLikelyAnswers = 2;

/// What a job does, counted: updates of a training, images of an evaluation.
struct Work {
  double total = 0, images_each = 1;
  std::string unit;
};

Work work_of(const fs::path& folder) {
  const auto identity = read_json(folder / kJobFile).at("identity");
  if (identity.value("kind", "") == "import")
    return {.total = static_cast<double>(identity.at("settings").at("checkpoints").size()),
            .unit = "checkpoints"};
  if (identity.value("kind", "") != "train")
    return {.total =
                static_cast<double>(read_json(folder / kPositionsFile).size()) * identity.value("samples", 1),
            .unit = "images"};
  const auto& settings = identity.at("settings");
  const double an_epoch = settings.value("prompts_per_epoch", 0.0) * settings.value("group_size", 0.0);
  const double updates = settings.value("updates_per_epoch", 1.0) * settings.value("inner_epochs", 1.0);
  return {.total = settings.value("updates", 0.0), .images_each = an_epoch / updates, .unit = "updates"};
}

class BatchJob : public RunningJob {
 public:
  /// full_at: the answer of the queue since which the system takes no more jobs; all share it.
  BatchJob(const Batch& batch, Task its_task, JobRequest request, fs::path worker, const BatchQueue& queue,
           std::int64_t& full_at, OnLine on_line)
      : RunningJob(std::move(its_task)),
        batch_(batch),
        request_(std::move(request)),
        worker_(std::move(worker)),
        queue_(queue),
        full_at_(full_at),
        on_line_(std::move(on_line)),
        work_(work_of(task.folder)) {
    ask_for_it();
  }

  void poll() override {
    if (Clock::now() - polled_ < kPollInterval) return;
    polled_ = Clock::now();
    if (!submission_ && answers_ != queue_.answers()) ask_for_it();
    if (is_stop_pending_) request_stop();
    read_log();
    say();
  }

  std::optional<ExitStatus> ended() override {
    if (is_complete_) return ExitStatus{};
    if (is_killed_) return kInterrupted;  // its end need not be waited for
    if (!submission_) return is_asked_to_stop_ ? std::optional(kInterrupted) : std::nullopt;
    if (answers_ == queue_.answers()) return std::nullopt;
    answers_ = queue_.answers();
    const auto* job = queue_.find(submission_->job);
    if (job != nullptr && !job->has_ended()) {
      ended_answers_ = 0;
      return std::nullopt;
    }
    if (++ended_answers_ == 1) ended_since_ = Clock::now();
    if (ended_answers_ < kLikelyAnswers) return std::nullopt;
    // By us, or by `harness runs cancel`.
    if (is_asked_to_stop_ || fs::exists(task.folder / kStopMarker)) return kInterrupted;
    // Its log may be on its way; of one that failed nothing more is to come.
    const bool may_be_done = job == nullptr || job->phase == QueuedJob::Phase::kCompleted;
    if (may_be_done && Clock::now() - ended_since_ < kPatience) return std::nullopt;
    if (job == nullptr && !std::exchange(was_lost_, true)) {
      submission_.reset();
      ask_for_it();
      return std::nullopt;
    }
    auto end = batch_.end_of(submission_->job, job);
    end_ = std::move(end.text);
    return end.status;
  }

  void ask_to_stop() override {
    if (std::exchange(is_asked_to_stop_, true) || !submission_) return;
    request_stop();
  }

  void kill() override {
    if (std::exchange(is_killed_, true) || !submission_) return;
    batch_.cancel(submission_->job);
  }

  std::string name() const override {
    return submission_ ? batch_.job_text(submission_->job)
                       : fmt::format("not in {}'s queue yet", batch_.names.name);
  }

  std::string how_it_ended(const ExitStatus&) const override { return end_; }

 private:
  static constexpr ExitStatus kInterrupted{.code = static_cast<int>(Status::kInterrupted)};

  void ask_for_it() {
    answers_ = queue_.answers();
    ended_answers_ = 0;
    if (full_at_ == answers_ && !is_in_queue()) return;
    Submitted answer;
    submission_ = submit_or_adopt(batch_, request_, worker_, queue_, answer);
    if (!submission_) {
      is_full_ = answer.is_full;
      if (is_full_) full_at_ = answers_;
      return;
    }
    offset_ = log_begin = submission_->log_begin;
    if (is_asked_to_stop_) request_stop();
  }

  /// Again at the next look where it was not reached.
  void request_stop() {
    try {
      cancel_submission(task.folder, batch_, submission_->job);
      is_stop_pending_ = false;
    } catch (const Error& error) {
      if (!std::exchange(is_stop_pending_, true)) on_line_(*this, fmt::format("note {}", error.what()));
    }
  }

  bool is_in_queue() const {
    return queue_.find_living(batch_job_name(request_.id, request_.folder)) != nullptr;
  }

  void read_log() {
    const auto log = task.folder / kEventLog;
    std::error_code absent;
    const auto size = fs::file_size(log, absent);
    if (absent || size <= offset_) return;
    const auto batch = read_events(log, offset_);
    if (batch.events.empty()) return;
    offset_ = batch.next_offset;
    log_has_grown = true;
    for (const auto& event : batch.events) heed(event);
  }

  void heed(const Json& event) {
    const auto type = event.value("type", "");
    if (type == "job_completed") is_complete_ = true;
    if (type == "sample") ++done_;
    if (type != "update") return;
    done_ = event.value("update_index", done_);
    const auto& stats = event.at("stats");
    if (stats.contains("reward_mean") && stats["reward_mean"].is_number())
      reward_ = fmt::format("reward {:.3f}", stats["reward_mean"].get<double>());
  }

  /// What a worker would write to its pipe.
  void say() {
    const auto* job = submission_ ? queue_.find(submission_->job) : nullptr;
    auto text = !submission_ ? why_not_asked() : job == nullptr ? std::string("queued") : job->text();
    if (is_asked_to_stop_ || fs::exists(task.folder / kStopMarker)) text = "stopping";
    const bool has_begun = done_ > 0 && (job == nullptr || !job->is_waiting());
    if (has_begun && !reward_.empty()) text = reward_ + ", " + text;
    const Json progress = {{"done", done_},
                           {"total", has_begun ? work_.total : 0},
                           {"unit", work_.unit},
                           {"images", done_ * work_.images_each},
                           {"text", text}};
    if (job != nullptr && job->can_never_start && !std::exchange(has_warned_, true))
      on_line_(*this, fmt::format("note {}: as things are it never starts; change what it asks for with {}, "
                                  "or ask the cluster's administrators",
                                  job->text(), batch_.option()));
    if (auto line = "progress " + progress.dump(); line != last_line_)
      on_line_(*this, last_line_ = std::move(line));
  }

  std::string why_not_asked() const {
    const auto& name = batch_.names.name;
    return is_full_ ? fmt::format("waits until {} takes more jobs", name) : name + " does not answer";
  }

  const Batch& batch_;
  const JobRequest request_;
  const fs::path worker_;
  const BatchQueue& queue_;
  std::int64_t& full_at_;
  const OnLine on_line_;
  const Work work_;
  std::optional<Submission> submission_;
  std::uint64_t offset_ = 0;  ///< how much of the log was read
  double done_ = 0;
  std::string reward_, last_line_, end_ = "ended";
  Clock::time_point polled_{}, ended_since_{};
  std::int64_t answers_ = -1;  ///< of the queue that were taken into account
  int ended_answers_ = 0;      ///< that call it ended, one after the other
  bool is_full_ = true;        ///< why it was not asked for, so far as is known
  bool is_complete_ = false, was_lost_ = false, has_warned_ = false;
  bool is_asked_to_stop_ = false, is_stop_pending_ = false, is_killed_ = false;
};

/// From one resume point to the next: an epoch.
std::optional<double> seconds_of_an_epoch(const Plan& plan, const Rates& rates) {
  if (!rates.measured) return std::nullopt;
  double longest = 0;
  for (const auto& method : plan.training_rows()) {
    const auto settings = plan.settings.effective_loop(plan.registry, "train", method);
    const double images = settings.value("prompts_per_epoch", 0.0) * settings.value("group_size", 0.0);
    longest = std::max(longest, images / rates.train_images_per_second);
  }
  return longest;
}

}  // namespace

JobRequest job_request(JobRequest job, const Plan& plan, const Shares& shares, const Rates& rates,
                       const std::string& arguments) {
  job.folder = fs::absolute(job.folder).lexically_normal();
  job.ranks = shares.ranks;
  job.threads = shares.threads;
  job.on_gpus = plan.device_kind != "cpu";
  if (rates.measured || !job.on_gpus) job.memory_mb = rates.peak_memory_mb;
  if (!rates.measured) job.seconds.reset();
  const bool is_evaluation = job.folder.filename().string().starts_with(kEvaluationPrefix);
  job.unit_seconds = is_evaluation ? std::optional(0.0) : seconds_of_an_epoch(plan, rates);
  job.arguments = arguments;
  return job;
}

BatchExecutor::BatchExecutor(const Batch& batch, fs::path worker, RequestOf request_of,
                             std::string continuation)
    : batch_(batch),
      worker_(std::move(worker)),
      request_of_(std::move(request_of)),
      queue_(batch),
      continuation_(std::move(continuation)) {
  queue_.read();
}

std::optional<std::string> BatchExecutor::goes_on_with_jobs() const {
  const auto* job = queue_.find_living(continuation_);
  return job != nullptr ? std::optional(batch_.job_text(job->id)) : std::nullopt;
}

std::unique_ptr<RunningJob> BatchExecutor::start(boost::asio::io_context&, Task task,
                                                 RunningJob::OnLine on_line) {
  auto request = request_of_(task);
  return std::make_unique<BatchJob>(batch_, std::move(task), std::move(request), worker_, queue_, full_at_,
                                    std::move(on_line));
}

std::vector<std::string> BatchExecutor::poll() {
  queue_.poll();
  if (queue_.trouble() == trouble_) return {};
  trouble_ = queue_.trouble();
  const auto& name = batch_.names.name;
  if (trouble_.empty()) return {fmt::format("note: {} answers again", name)};
  return {fmt::format("note: {} does not answer ({}); jobs that run go on, and it is asked again", name,
                      trouble_)};
}

}  // namespace harness
