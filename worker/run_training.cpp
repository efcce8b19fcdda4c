#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "backbones/backbone.h"
#include "core/error.h"
#include "core/event_log.h"
#include "core/files.h"
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

/// When to keep a resume point: a kill shall cost little work, and keeping them a small share of the time.
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

std::vector<TrainingPrompt> training_prompts(const WorkerJob& job) {
  std::vector<TrainingPrompt> prompts;
  for (const auto& p : planned_prompts(job, "train_prompts", "run"))
    prompts.push_back({p.position, {p.text, p.target}});
  return prompts;
}

/// A process that lived on after its job was taken over, or a machine that lost its power, may have left
/// resume points of updates that the log does not hold.
std::int64_t recorded_updates(const WorkerJob& job) {
  std::int64_t last = 0;
  for (const auto& event : Events(job.folder / "events.log")) {
    if (event.value("type", "") == "update") last = std::max(last, event.value("update_index", last));
  }
  return last;
}

/// What a killed process was writing.
void remove_what_was_begun(const WorkerJob& job) {
  for (const auto* folder : {"resume", "checkpoints"}) remove_asides(job.folder / folder);
}

void require_same_source(const WorkerJob& job) {
  const auto name = job.get<std::string>("method");
  const auto found = methods().find(name);
  if (found == methods().end()) return;  // make_method says so
  expect_planned_source("method " + name, job.identity.value("method_source", ""), {found->second.file},
                        job.file());
}

}  // namespace

bool run_training(const WorkerJob& job, const Ranks& ranks, Reporter& reporter) {
  require_same_source(job);
  if (ranks.is_root()) remove_what_was_begun(job);
  const auto where = job.file() + ": identity";
  const auto task = job.get<std::string>("task");
  const auto given =
      read_train_settings(without_model_choices(job.get<Json>("settings"), job.get<std::string>("backbone")),
                          where + ".settings");
  const auto method_of = [&](std::int64_t latent_size) {
    return make_method(job.get<std::string>("method"), job.get<Json>("method_settings"),
                       method_context(task, latent_size, given), where + ".method_settings");
  };
  // What a method samples does not depend on the latent, which is known once the model is loaded.
  const auto settings = with_forests(given, *method_of(kAnyLatentSize).method,
                                     static_cast<std::uint32_t>(job.get<std::int64_t>("seed")), where);
  TrainJob training{.settings = settings,
                    .seed = static_cast<std::uint32_t>(job.get<std::int64_t>("seed")),
                    .prompts = training_prompts(job),
                    .folder = job.folder,
                    .source = backbone_source(job),
                    .resume_key = worker_build() + " " + device_identity(job.device),
                    .recorded_updates = recorded_updates(job)};
  training.source.prompts = prompts_of_all_epochs(training);
  const auto weights = hold_weights(job);
  const auto backbone = Backbone::load(training.source);
  weights.expect_unchanged();
  auto configured = method_of(backbone->latent().size());
  reporter.event({{"type", "effective_settings"},
                  {"settings", training.settings.effective},
                  {"method_settings", configured.effective}});

  auto scoring = open_scorers(job);
  const auto total = static_cast<double>(training.settings.updates);
  const auto images_per_update = static_cast<double>(training.settings.images_per_epoch()) /
                                 static_cast<double>(training.settings.updates_of_an_epoch());
  ResumeSchedule resume_points;
  TrainHooks hooks;
  hooks.reward = [&](const TrainingPrompt& prompt, const Image& image) {
    return std::async(std::launch::deferred,
                      [task, &reporter,
                       score = scoring.score({prompt.prompt.text, prompt.prompt.target}, image)]() mutable {
                        auto reward = task_reward(task, score.get());
                        if (!reward.has_value()) reporter.expect_no_stop();
                        return reward;
                      });
  };
  hooks.reward_gradient = reward_gradient_of(task, scoring);
  hooks.on_resume = [&](std::int64_t update) {
    reporter.event({{"type", "resumed"}, {"resumed_from", update}});
  };
  bool is_recorded = false;
  hooks.on_update = [&](const UpdateRecord& u) {
    // Encoders may have been read since; from the first record on, all there is to read has been.
    if (!std::exchange(is_recorded, true)) weights.expect_unchanged();
    reporter.event({{"type", "update"},
                    {"update_index", u.update_index},
                    {"epoch", u.epoch},
                    {"fresh", u.fresh},
                    {"on_policy", u.on_policy},
                    {"stats", u.stats},
                    {"per_step", u.per_step}});
    reporter.wake();
    const auto done = static_cast<double>(u.update_index);
    reporter.progress(done, total, "updates", done * images_per_update,
                      fmt::format("reward {:.3f}", u.stats.at("reward_mean")));
  };
  hooks.on_checkpoint = [&](const WrittenCheckpoint& c) {
    reporter.event({{"type", "checkpoint"},
                    {"step", c.step},
                    {"path", std::filesystem::relative(c.folder, job.folder).string()},
                    {"sha256", c.sha256},
                    {"lambda_late", or_null(c.lambda_late)},
                    {"lambda_late_last", or_null(c.lambda_late_last)},
                    {"clip_fraction", or_null(c.clip_fraction)},
                    {"spent",
                     {{"seconds", c.spent.seconds},
                      {"scorer_seconds", c.spent.scorer_seconds},
                      {"core_seconds", c.spent.core_seconds},
                      {"gpu_busy_seconds", or_null(c.spent.gpu_busy_seconds)},
                      {"peak_bytes", c.spent.peak_bytes},
                      {"weight_copies", c.spent.weight_copies}}}});
    reporter.wake();
  };
  const auto note = [&](const char* level, const std::string& message) {
    reporter.event({{"type", "note"}, {"level", level}, {"message", message}});
    reporter.wake();
  };
  hooks.on_warning = [&](const std::string& message) { note("warning", message); };
  const auto warning_of = [&](const MeasuredRounding& rounding) {
    return rounding_warning(rounding, backbone->latent().size(), configured.effective);
  };
  hooks.on_rounding = [&](const MeasuredRounding& rounding) {
    if (const auto warning = warning_of(rounding); !warning.empty())
      hooks.on_warning(warning);
    else
      note("info", rounding_note(rounding, backbone->latent().size(), configured.effective));
  };
  hooks.should_stop = [&] { return reporter.should_stop(); };
  hooks.may_save = [&] { return !reporter.is_superseded(); };
  hooks.should_save = [&] { return resume_points.is_due(); };
  hooks.reward_state = [&] { return scoring.state(); };
  hooks.restore_rewards = [&](const Json& state, const std::string& place) { scoring.restore(state, place); };
  hooks.on_saved = [&](Clock::duration cost) { resume_points.saved(cost); };
  WorkerPool pool(job.shards_at_once(), use_one_thread);
  const auto outcome = train(training, *backbone, *configured.method, pool, ranks, hooks);
  if (!outcome.done) return false;
  Json notes = Json::array();
  const auto run = fmt::format("{} (seed {})", job.get<std::string>("method"), training.seed);
  if (!outcome.law.holds())
    notes.push_back(fmt::format("{} broke the path-variance law. {}.", run, outcome.law.message));
  if (const auto warning = outcome.rounding ? warning_of(*outcome.rounding) : ""; !warning.empty())
    notes.push_back(fmt::format("{}: {}.", run, warning));
  reporter.completed({{"updates", training.settings.updates},
                      {"scorers_replaced", scoring.replaced()},
                      {"law_holds", outcome.law.holds()},
                      {"table_notes", std::move(notes)}});
  return true;
}

}  // namespace harness
