#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <future>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "backbones/backbone.h"
#include "core/event_log.h"
#include "core/files.h"
#include "core/streams.h"
#include "models/nn/device.h"
#include "trainers/loop/rounding_floor.h"
#include "trainers/loop/train.h"
#include "trainers/loop/trainable.h"
#include "trainers/method.h"
#include "worker/backbone_source.h"
#include "worker/commands.h"
#include "worker/reward_gradient.h"
#include "worker/scoring.h"

namespace harness {
namespace {

using Clock = std::chrono::steady_clock;

/// When to write a resume point: a kill costs little work, and writing a tenth of the time at most.
class ResumeSchedule {
 public:
  bool is_due() const { return Clock::now() - last_ >= std::max(kShortest, kShare * cost_); }
  void saved(Clock::duration cost) {
    cost_ = cost;
    last_ = Clock::now();
  }

 private:
  static constexpr Clock::duration kShortest = std::chrono::seconds(1);
  static constexpr int kShare = 10;  // at most a tenth
  Clock::duration cost_{};
  Clock::time_point last_ = Clock::now();
};

/// Updates in the log. After a takeover or a power cut there may be resume points of later ones.
std::int64_t recorded_updates(const WorkerJob& job) {
  std::int64_t last = 0;
  for (const auto& event : Events(job.folder / kEventLog)) {
    if (event.value("type", "") == "update") last = std::max(last, event.value("update_index", last));
  }
  return last;
}

void remove_unfinished_files(const WorkerJob& job) {
  for (const auto* folder : {"resume", "checkpoints"}) remove_asides(job.folder / folder);
}

void require_same_source(const WorkerJob& job) {
  const auto name = job.get<std::string>("method");
  const auto found = methods().find(name);
  if (found == methods().end()) return;  // make_method reports it
  expect_planned_source("method " + name, job.identity.value("method_source", ""), {found->second.file},
                        job.file());
}

/// A training run and its reports.
class Training {
 public:
  Training(const WorkerJob& job, const Ranks& ranks, Reporter& reporter)
      : job_(job),
        ranks_(ranks),
        reporter_(reporter),
        task_(job.get<std::string>("task")),
        given_(read_train_settings(
            without_model_choices(job.get<Json>("settings"), job.get<std::string>("backbone")),
            where_ + ".settings")),
        prompts_(planned_prompts(job, "train_prompts", "run")),
        training_(train_job()),
        weights_(hold_weights(job)),
        backbone_(Backbone::load(training_.source)) {
    weights_.expect_unchanged();
    configured_ = method_of(backbone_->latent().size());
    reporter_.event({{"type", "effective_settings"},
                     {"settings", training_.settings.effective},
                     {"method_settings", configured_.effective}});
    scoring_.emplace(open_scorers(job));
  }

  /// False: it was asked to stop.
  bool run() {
    WorkerPool pool(job_.shards_at_once(), use_one_thread);
    const auto outcome = train(training_, *backbone_, *configured_.method, pool, ranks_, hooks());
    if (!outcome.done) return false;
    reporter_.completed({{"updates", training_.settings.updates},
                         {"scorers_replaced", scoring_->replaced()},
                         {"law_holds", outcome.law.holds()},
                         {"table_notes", table_notes(outcome)}});
    return true;
  }

 private:
  ConfiguredMethod method_of(std::int64_t latent_size) const {
    return make_method(job_.get<std::string>("method"), job_.get<Json>("method_settings"),
                       method_context(task_, latent_size, given_), where_ + ".method_settings");
  }

  TrainJob train_job() const {
    const auto seed = job_.seed();
    // What a method samples does not depend on the latent, which is unknown until the model is loaded.
    TrainJob training{.settings = with_forests(given_, *method_of(kAnyLatentSize).method, seed, where_),
                      .seed = seed,
                      .prompts = {},
                      .folder = job_.folder,
                      .source = backbone_source(job_),
                      .resume_key = worker_build() + " " + device_identity(job_.device),
                      .recorded_updates = recorded_updates(job_)};
    std::ranges::transform(prompts_, std::back_inserter(training.prompts), prompt_text);
    training.source.prompts = prompts_of_all_epochs(training);
    return training;
  }

  TrainHooks hooks() {
    TrainHooks hooks;
    hooks.reward = [this](std::size_t prompt, const Image& image) { return reward(prompts_[prompt], image); };
    hooks.reward_gradient = reward_gradient_of(task_, *scoring_);
    hooks.on_resume = [this](std::int64_t update) {
      reporter_.event({{"type", "resumed"}, {"resumed_from", update}});
      report_progress(update, "");
    };
    hooks.on_update = [this](const UpdateRecord& update) { record(update); };
    hooks.on_checkpoint = [this](const WrittenCheckpoint& checkpoint) { record(checkpoint); };
    hooks.on_warning = [this](const std::string& message) { note("warning", message); };
    hooks.on_rounding = [this](const MeasuredRounding& rounding) { record(rounding); };
    hooks.should_stop = [this] { return reporter_.should_stop(); };
    hooks.may_save = [this] { return !reporter_.is_superseded(); };
    hooks.should_save = [this] { return resume_points_.is_due(); };
    hooks.reward_state = [this] { return scoring_->state(); };
    hooks.restore_rewards = [this](const Json& state, const std::string& place) {
      scoring_->restore(state, place);
    };
    hooks.on_saved = [this](Clock::duration cost) { resume_points_.saved(cost); };
    return hooks;
  }

  std::future<std::optional<double>> reward(const Prompt& prompt, const Image& image) {
    auto score = scoring_->score(prompt.text, prompt.target, image);
    return std::async(std::launch::deferred, [this, score = std::move(score)]() mutable {
      const auto found = score.get();
      auto reward = task_reward(task_, found);
      if (!reward.has_value()) {
        reporter_.expect_no_stop();
        tell("no reward: {}\n", missing_reward_reason(task_, found));
      }
      return reward;
    });
  }

  void record(const UpdateRecord& u) {
    // At the first record all files, text encoders too, have been read.
    if (!std::exchange(is_recorded_, true)) weights_.expect_unchanged();
    reporter_.event({{"type", "update"},
                     {"update_index", u.update_index},
                     {"epoch", u.epoch},
                     {"fresh", u.fresh},
                     {"on_policy", u.on_policy},
                     {"stats", u.stats},
                     {"per_step", u.per_step}});
    reporter_.wake();
    report_progress(u.update_index, fmt::format("reward {:.3f}", u.stats.at("reward_mean")));
  }

  void report_progress(std::int64_t update, const std::string& text) {
    const auto& settings = training_.settings;
    const auto images_per_update = static_cast<double>(settings.images_per_epoch()) /
                                   static_cast<double>(settings.updates_of_an_epoch());
    const auto done = static_cast<double>(update);
    reporter_.progress(done, static_cast<double>(settings.updates), "updates", done * images_per_update,
                       text);
  }

  void record(const WrittenCheckpoint& c) {
    reporter_.event({{"type", "checkpoint"},
                     {"step", c.step},
                     {"path", std::filesystem::relative(c.folder, job_.folder).string()},
                     {"sha256", c.sha256},
                     {"lambda_late", or_null(c.lambda_late)},
                     {"lambda_late_last", or_null(c.lambda_late_last)},
                     {"clip_fraction", or_null(c.clip_fraction)},
                     {"spent", c.spent.to_json()}});
    reporter_.wake();
  }

  void record(const MeasuredRounding& rounding) {
    if (const auto warning = warning_of(rounding); !warning.empty())
      note("warning", warning);
    else
      note("info", rounding_note(rounding, backbone_->latent().size(), configured_.effective));
  }

  void note(const char* level, const std::string& message) {
    reporter_.event({{"type", "note"}, {"level", level}, {"message", message}});
    reporter_.wake();
  }

  std::string warning_of(const MeasuredRounding& rounding) const {
    return rounding_warning(rounding, backbone_->latent().size(), configured_.effective);
  }

  Json table_notes(const TrainOutcome& outcome) const {
    Json notes = Json::array();
    const auto run = fmt::format("{} (seed {})", job_.get<std::string>("method"), training_.seed);
    if (!outcome.law.holds())
      notes.push_back(fmt::format("{} broke the path-variance law. {}.", run, outcome.law.message));
    if (const auto warning = outcome.rounding ? warning_of(*outcome.rounding) : ""; !warning.empty())
      notes.push_back(fmt::format("{}: {}.", run, warning));
    return notes;
  }

  const WorkerJob& job_;
  const Ranks& ranks_;
  Reporter& reporter_;
  const std::string where_ = job_.file() + ": identity";
  std::string task_;
  TrainSettings given_;
  std::vector<Prompt> prompts_;
  TrainJob training_;
  HeldFiles weights_;
  std::unique_ptr<Backbone> backbone_;
  ConfiguredMethod configured_;
  std::optional<Scorers> scoring_;
  ResumeSchedule resume_points_;
  bool is_recorded_ = false;
};

}  // namespace

bool run_training(const WorkerJob& job, const Ranks& ranks, Reporter& reporter) {
  require_same_source(job);
  if (ranks.is_root()) remove_unfinished_files(job);
  return Training(job, ranks, reporter).run();
}

}  // namespace harness
