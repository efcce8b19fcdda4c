#include "trainers/loop/train.h"

#include <algorithm>
#include <memory>

#include "core/error.h"
#include "core/streams.h"
#include "trainers/forward/snapshots.h"
#include "trainers/law/path_variance.h"
#include "trainers/loop/direct_objective.h"
#include "trainers/loop/epoch.h"
#include "trainers/loop/forward_objective.h"
#include "trainers/loop/rounding_floor.h"
#include "trainers/loop/run_state.h"
#include "trainers/loop/spending.h"
#include "trainers/loop/step_objective.h"
#include "trainers/loop/trainable.h"

namespace harness {
namespace {

using torch::Tensor;

constexpr std::size_t kLateWindow = 10;  // off-policy updates in a checkpoint's Lambda_late

std::vector<Tensor> tensors_of(const std::vector<NamedTensor>& weights) {
  std::vector<Tensor> tensors;
  for (const auto& weight : weights) tensors.push_back(weight.tensor);
  return tensors;
}

/// Noise level of E6's diffusion, for the factor of a wrong time direction.
double audited_noise_level(const Method& method, const TrainJob& job) {
  const auto plan = method.plan(plan_context(job.settings, job.seed, 1));
  const auto found = std::ranges::find_if(
      plan.steps, [](const auto& step) { return step.rule.kind == StepRule::Kind::kFlowSde; });
  return found == plan.steps.end() ? kNoNumber : found->rule.level;
}

class GrpoLoop {
 public:
  GrpoLoop(const TrainJob& job, Backbone& backbone, Method& method, WorkerPool& pool, const Ranks& ranks,
           const TrainHooks& hooks)
      : job_(job),
        settings_(job.settings),
        backbone_(backbone),
        method_(method),
        ranks_(ranks),
        hooks_(hooks),
        weights_(backbone.trainable()),
        parameters_(tensors_of(weights_)),
        snapshots_(weights_,
                   kept_snapshots(method, method.plan(plan_context(job.settings, job.seed, 1)), "method")),
        loss_scale_(has_parameters_of(backbone, torch::kFloat16) ? LossScale(settings_.loss_scale)
                                                                 : LossScale()),
        parts_{.job = job,
               .settings = settings_,
               .backbone = backbone,
               .method = method,
               .pool = pool,
               .ranks = ranks,
               .hooks = hooks,
               .weights = weights_,
               .parameters = parameters_,
               .snapshots = snapshots_,
               .loss_scale = loss_scale_},
        source_(parts_),
        optimiser_(weights_, settings_.adamw),
        ema_(weights_, settings_.ema),
        audit_(settings_.sampling_steps, static_cast<double>(backbone.latent().size()),
               audited_noise_level(method, job)) {
    require_shared_folds(settings_, ranks.size(), "ranks");
    require_trainable(method, settings_, job.seed, "method");
    if (const auto* forward = dynamic_cast<const ForwardMethod*>(&method)) {
      objective_ = std::make_unique<ForwardObjective>(parts_, *forward);
    } else if (const auto* direct = dynamic_cast<const DirectMethod*>(&method)) {
      objective_ = std::make_unique<DirectObjective>(parts_, *direct);
    } else {
      const double kl = method.reference_kl().value_or(ReferenceKl{.weight = settings_.kl}).weight;
      if (kl > 0 && backbone.adapter() == nullptr) reference_ = Backbone::load(job.source);
      objective_ = std::make_unique<StepObjective>(parts_, audit_, reference_.get());
      measures_rounding_ = ranks_.is_root() && rounds_log_ratios(backbone_);
    }
    spending_ = std::make_unique<Spending>(parts_, source_, *objective_, reference_.get());
  }

  TrainOutcome run() {
    resume();
    if (ranks_.is_root()) hooks_.on_resume(update_);
    while (update_ < settings_.updates) {
      if (ranks_.any(hooks_.should_stop())) {
        if (ranks_.of_root(ranks_.is_root() && hooks_.may_save())) save_resume_point();
        ranks_.any(false);  // barrier: a launcher kills all ranks once one has left
        return {.done = false, .law = {}, .rounding = {}};
      }
      const auto epoch = source_.next(update_ / settings_.updates_of_an_epoch() + 1);
      objective_->begin(epoch);
      keep_sampling_weights();
      for (std::int64_t part = 0; part < settings_.updates_of_an_epoch() && update_ < settings_.updates;
           ++part)
        update(epoch, part);
      snapshots_.after_epoch(weights_, update_);
      check_law_audit();
      if (update_ < settings_.updates && ranks_.of_root(ranks_.is_root() && hooks_.should_save()))
        save_resume_point();
    }
    check_law_audit();
    return {.done = true, .law = law_, .rounding = rounding_};
  }

 private:
  void update(const Epoch& epoch, std::int64_t number) {
    const auto shards = static_cast<std::size_t>(settings_.shards_of_an_update());
    const UpdatePart part{.epoch = epoch,
                          .first = static_cast<std::size_t>(number % settings_.updates_per_epoch) * shards,
                          .count = shards,
                          .update = update_ + 1,
                          .fresh = objective_->samples_every_update() || number < settings_.updates_per_epoch,
                          .on_policy = objective_->samples_every_update() || number == 0};
    const auto rounding = measure_rounding(part);
    auto [sum, record, damping, takes_out_weights] = objective_->contribute(part);
    if (rounding) describe_rounding(*rounding, epoch, record);
    record.epoch = epoch.number;
    record.fresh = part.fresh;
    record.on_policy = part.on_policy;
    optimiser_.set_lr(settings_.lr_of(update_ + 1));
    const bool is_skipped = sum && skips(*sum, record);
    StepReport step;
    {
      const BusyTime::Piece piece(backbone_.busy_time());
      if (sum && !is_skipped) step = optimiser_.step(sum->total(), norm_limit(damping));
      ema_.update(weights_);
      ++update_;
      snapshots_.after_update(weights_, update_);
    }
    record.update_index = update_;
    if (!is_skipped) record.stats["grad_norm"] = step.grad_norm;
    record.stats["clip_coefficient"] = step.clip_coefficient;
    record.stats["update_norm"] = step.update_norm;
    if (damping && !is_skipped) describe_damping(*damping, step, *sum, takes_out_weights, record);
    remember(record);
    method_.after_update({.lambda_late = lambda_late_of(record), .on_policy = part.on_policy});
    record.stats.merge(spending_->counts());
    const bool is_checkpoint = std::ranges::count(settings_.checkpoints, update_) > 0;
    if (is_checkpoint) {
      const auto lag = ema_lag(settings_.ema, update_);
      record.stats["ema_lag"] = lag.updates;
      record.stats["ema_start_share"] = lag.start_share;
    }
    const auto spent = is_checkpoint ? spending_->time() : SpentTime();
    if (!ranks_.is_root()) return;
    hooks_.on_update(record);
    if (is_checkpoint) save_checkpoint(spent);
  }

  /// Whether the gradients overflowed float16, so that the update moves no weight.
  bool skips(const FoldSum& sum, UpdateRecord& record) {
    if (!loss_scale_.moves()) return false;
    record.stats["loss_scale"] = loss_scale_.factor();
    const bool is_skipped = loss_scale_.skips(sum.total());
    record.stats["step_skipped"] = is_skipped ? 1 : 0;
    return is_skipped;
  }

  static double lambda_late_of(const UpdateRecord& record) {
    const auto found = record.stats.find("lambda_late");
    return found == record.stats.end() ? 0 : found->second;
  }

  double norm_limit(const std::optional<Damping>& damping) const {
    const bool after_clip = damping && method_.damps_after_clip();
    return settings_.max_grad_norm * (after_clip ? damping->mean_weight : 1);
  }

  /// The gradient norm without the damp weights, and whether clipping undid the damping.
  void describe_damping(const Damping& damping, const StepReport& step, const FoldSum& sum,
                        bool takes_out_weights, UpdateRecord& record) const {
    record.stats["damped_share"] = damping.share;
    const bool is_damped = damping.share > 0;
    if (is_damped && !takes_out_weights) return;
    const double undamped = is_damped ? l2_norm(sum.undamped()) : step.grad_norm;
    record.stats["grad_norm_undamped"] = undamped;
    if (!is_damped) return;
    // Clipped with and without the weights, the gradient has the same norm.
    const bool is_undone = !method_.damps_after_clip() &&
                           norm_clip(step.grad_norm, settings_.max_grad_norm) < 1 &&
                           norm_clip(undamped, settings_.max_grad_norm) < 1;
    record.stats["damping_undone"] = is_undone ? 1 : 0;
  }

  void keep_sampling_weights() {
    const torch::NoGradGuard no_grad;
    if (measures_rounding_ && !rounding_) sampled_by_ = copy_of(parameters_);
  }

  /// Once per run, at the first nonzero log-ratios. Not counted as the run's NFE.
  std::optional<RoundingFloor> measure_rounding(const UpdatePart& part) {
    if (!measures_rounding_ || rounding_ || part.on_policy) return {};
    const auto& shard = part.epoch.shards[part.first];
    if (shard.edges.empty()) return {};
    const auto counted = backbone_.evaluations();
    auto floor = rounding_floor(backbone_, parts_.pool, part.epoch.sampler, shard, sampled_by_);
    spending_->leave_out(backbone_.evaluations().forward - counted.forward);
    if (std::ranges::all_of(floor.measured, [](double lambda) { return lambda == 0; })) return {};
    sampled_by_.clear();
    return floor;
  }

  void describe_rounding(const RoundingFloor& floor, const Epoch& epoch, UpdateRecord& record) {
    rounding_ = {.late = floor.late(settings_.late_steps)};
    if (const auto slope = record.stats.find("off_policy_slope"); slope != record.stats.end())
      rounding_->slope = slope->second;
    record.stats["rounding_late"] = rounding_->late;
    hooks_.on_rounding(*rounding_);
    auto& row = record.per_step["lambda_rounding"];
    row.assign(static_cast<std::size_t>(settings_.sampling_steps), kNoNumber);
    const auto trained = epoch.sampler.plan.trained();
    for (std::size_t k = 0; k < trained.size(); ++k)
      row[static_cast<std::size_t>(trained[k])] = floor.rounding[k];
  }

  /// Warns once that the law is broken, or stops the run by setting law_audit.
  void check_law_audit() {
    if (settings_.law_audit == AuditMode::kOff) return;
    const bool held = law_.holds();
    law_ = audit_.verdict();
    if (law_.holds()) return;
    if (settings_.law_audit == AuditMode::kStop) {
      throw Error("the path-variance law is broken. " + law_.message, fmt::format("update {}", update_),
                  "fix the cause, or set law_audit=mark to continue and have the run marked",
                  Status::kFailed);
    }
    if (held && ranks_.is_root()) hooks_.on_warning("the path-variance law is broken. " + law_.message);
  }

  /// Keeps the recent off-policy statistics for checkpoints; on-policy ones are 0 by construction.
  void remember(const UpdateRecord& record) {
    if (record.on_policy || !record.stats.contains("lambda_late")) return;
    lambda_window_.push_back(record.stats.at("lambda_late"));
    clip_window_.push_back(record.stats.at("clip_fraction"));
    if (lambda_window_.size() > kLateWindow) {
      lambda_window_.erase(lambda_window_.begin());
      clip_window_.erase(clip_window_.begin());
    }
  }

  void save_checkpoint(const SpentTime& spent) {
    WrittenCheckpoint record{.step = update_,
                             .folder = job_.folder / "checkpoints" / std::to_string(update_),
                             .sha256 = {},
                             .spent = spent};
    if (!lambda_window_.empty()) {
      record.lambda_late = mean_of(lambda_window_);
      record.lambda_late_last = lambda_window_.back();
      record.clip_fraction = mean_of(clip_window_);
    }
    const auto* adapter = backbone_.adapter();
    record.sha256 = write_checkpoint(record.folder, weights_, ema_.averages(), {{"step", update_}},
                                     adapter != nullptr ? &adapter->config() : nullptr);
    hooks_.on_checkpoint(record);
  }

  /// Each scorer's state, from the first process that has one.
  Json rewards_state() const {
    Json state = Json::object();
    for (const auto& theirs : ranks_.gather_json(hooks_.reward_state()))
      for (const auto& [scorer, own] : theirs.items()) state.emplace(scorer, own);
    return state;
  }

  void save_resume_point() {
    const auto begin = std::chrono::steady_clock::now();
    auto rewards = rewards_state();
    spending_->time();
    if (!ranks_.is_root()) return;
    const Json state{{"key", job_.resume_key},
                     {"update", update_},
                     {"method", method_.state()},
                     {"lambda_window", lambda_window_},
                     {"clip_window", clip_window_},
                     {"law_audit", audit_.state()},
                     {"loss_scale", loss_scale_.state()},
                     {"rounding", or_null(rounding_)},
                     {"rewards", std::move(rewards)},
                     {"spent", spending_->state()},
                     {"advantages", source_.advantages_state()}};
    write_resume_point(job_.folder, update_, weights_, optimiser_, ema_, snapshots_, state);
    hooks_.on_saved(std::chrono::steady_clock::now() - begin);
  }

  /// All processes must find the same files.
  void require_same_point(std::int64_t update) const {
    const auto all = ranks_.gather(fmt::format("{}", update));
    const auto other = std::ranges::find_if(all, [&](const auto& text) { return text != all.front(); });
    if (other == all.end()) return;
    throw Error(fmt::format("rank 0 finds a resume point of update {} here, and rank {} one of update {}",
                            all.front(), other - all.begin(), *other),
                (job_.folder / "resume").string(),
                "put the workspace on a file system that all machines share", Status::kFailed);
  }

  void resume() {
    const auto warn = [](const std::string& message) { tell("warning: {}\n", message); };
    const auto state = read_resume_point(job_.folder, job_.resume_key, job_.recorded_updates, weights_,
                                         optimiser_, ema_, snapshots_, warn);
    require_same_point(state ? state->at("update").get<std::int64_t>() : 0);
    if (!state) return;
    const auto where = (job_.folder / "resume").string();
    Fields fields(*state, where);
    fields.required<std::string>("key");
    update_ = fields.required<std::int64_t>("update");
    method_.restore(fields.get("method"), where);
    lambda_window_ = fields.required<std::vector<double>>("lambda_window");
    clip_window_ = fields.required<std::vector<double>>("clip_window");
    audit_.restore(fields.get("law_audit"), where);
    loss_scale_.restore(fields.get("loss_scale"), where);
    if (const auto& rounding = fields.get("rounding"); !rounding.is_null())
      rounding_ = rounding.get<MeasuredRounding>();
    if (settings_.law_audit != AuditMode::kOff) law_ = audit_.verdict();  // the log has its warning
    hooks_.restore_rewards(fields.optional<Json>("rewards", Json::object()), where);
    spending_->restore(fields.get("spent"), where);
    source_.restore_advantages(fields.get("advantages"), where);
    fields.finish();
  }

  const TrainJob& job_;
  const TrainSettings& settings_;
  Backbone& backbone_;
  Method& method_;
  const Ranks& ranks_;
  const TrainHooks& hooks_;
  std::vector<NamedTensor> weights_;
  std::vector<Tensor> parameters_;
  Snapshots snapshots_;
  LossScale loss_scale_;
  const RunParts parts_;
  EpochSource source_;
  AdamW optimiser_;
  Ema ema_;
  std::unique_ptr<Backbone> reference_;
  std::unique_ptr<Objective> objective_;
  std::int64_t update_ = 0;  ///< updates done
  std::vector<double> lambda_window_, clip_window_;
  LawAudit audit_;
  LawVerdict law_;
  std::unique_ptr<Spending> spending_;
  bool measures_rounding_ = false;            ///< in this process
  std::optional<MeasuredRounding> rounding_;  ///< once measured
  std::vector<Tensor> sampled_by_;            ///< the weights that sampled the epoch, until measured
};

}  // namespace

TrainOutcome train(const TrainJob& job, Backbone& backbone, Method& method, WorkerPool& pool,
                   const Ranks& ranks, const TrainHooks& hooks) {
  return GrpoLoop(job, backbone, method, pool, ranks, hooks).run();
}

}  // namespace harness
