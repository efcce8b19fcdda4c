#include "trainers/loop_settings.h"

#include <fmt/format.h>

#include "core/error.h"
#include "core/law_limits.h"
#include "core/settings/setting_rows.h"

namespace harness {
namespace {

constexpr double kMany = 1e6;

using Train = TrainSettings;
using Evaluate = EvaluateSettings;

const SettingRows<Train>& train_rows() {
  using Row = SettingRow<Train>;
  static const SettingRows<Train> rows = {
      Row("prompts_per_epoch", 8, {1, kMany}, &Train::prompts_per_epoch, "prompts (groups) per epoch"),
      Row("group_size", 8, {2, kMany}, &Train::group_size, "images per prompt, whose rewards are compared",
          {"E11"}),
      Row("updates_per_epoch", 2, {1, kMany}, &Train::updates_per_epoch,
          "optimiser steps per epoch, on disjoint parts of its samples"),
      Row("inner_epochs", 1, {1, 1000}, &Train::inner_epochs, "passes over the samples of an epoch"),
      Row("updates", 80, {1, 1e6}, &Train::updates, "optimiser steps of the run"),
      Row("shard_prompts", 2, {1, kMany}, &Train::shard_prompts,
          "prompts per shard, the unit of work of fixed composition; batch means inside an objective are "
          "taken over it"),
      Row("gradient_folds", 0, {0, 1000}, &Train::gradient_folds,
          "equal groups of an update's shards whose gradients are summed apart, then added in order; the "
          "processes of a run (--ranks) must divide it; 0: the largest divisor of the shards up to 8"),
      Row("sampling_steps", 10, {1, 1000}, &Train::sampling_steps, "SDE steps per rollout", {"E8"}),
      Row("trained_steps", 0, {0, 1000}, &Train::trained_steps,
          "number of steps trained, from the first; 0: all"),
      Row("late_steps", 5, {1, 1000}, &Train::late_steps, "size of the late set: the last trained steps",
          {"E46, E47"}),
      Row("noise_level", 0.7, {1e-3, 10}, &Train::noise_level, "a of sigma_t = a sqrt(t / (1 - t))", {"E6"}),
      Row("guidance", 1, {0, 100}, &Train::guidance,
          "guidance of rollouts and training, classifier-free or FLUX's input; 1: none"),
      Row("lr", 5e-5, {0, 1}, in(&Train::adamw, &AdamWOptions::lr), "AdamW: learning rate"),
      Row("lr_warmup", 0, {0, 1e9}, &Train::lr_warmup,
          "updates over which the learning rate rises linearly: update u takes u / lr_warmup of it",
          {.silent_default = true}),
      Row("beta1", 0.9, {0, 0.999999}, in(&Train::adamw, &AdamWOptions::beta1),
          "AdamW: decay of the first moment"),
      Row("beta2", 0.999, {0, 0.999999}, in(&Train::adamw, &AdamWOptions::beta2),
          "AdamW: decay of the second moment"),
      Row("adam_eps", 1e-8, {0, 1}, in(&Train::adamw, &AdamWOptions::eps), "AdamW: epsilon"),
      Row("weight_decay", 1e-4, {0, 1}, in(&Train::adamw, &AdamWOptions::weight_decay),
          "AdamW: decoupled weight decay"),
      Row("max_grad_norm", 1, {1e-9, 1e9}, &Train::max_grad_norm,
          "gradients are clipped to this global norm"),
      Row("loss_scale", 65536, {1, 1e12}, &Train::loss_scale,
          "of a network in float16: factor of the loss, of whose gradients small ones would vanish. Half after "
          "an update whose gradients are not finite, which moves no weight; twice after 2000 others in a row",
          {.silent_default = true}),
      Row("advantage_limit", 5, {1e-3, 1e6}, &Train::advantage_limit,
          "advantages are clamped to plus or minus this", {"E11"}),
      Row("advantage", "method",
          Choices<std::optional<AdvantageRule>>{{"method", std::nullopt},
                                                {"group", AdvantageRule::kGroup},
                                                {"global", AdvantageRule::kGlobal},
                                                {"unbiased", AdvantageRule::kUnbiased},
                                                {"floor", AdvantageRule::kFloor},
                                                {"centred", AdvantageRule::kCentred},
                                                {"leave-one-out", AdvantageRule::kLeaveOneOut},
                                                {"batch", AdvantageRule::kBatch},
                                                {"tracked", AdvantageRule::kTracked},
                                                {"win-rate", AdvantageRule::kWinRate},
                                                {"raw", AdvantageRule::kRaw}},
          &Train::advantage,
          "how a reward r becomes an advantage, m and sd those of its group; method: the method's own rule, "
          "group where it has none; group: (r - m) / (sd + 1e-4); global: by the sd of all rewards of the "
          "epoch; unbiased: sd with divisor n - 1; floor: by max(sd, 1e-6); centred: r - m; leave-one-out: "
          "r minus the mean of the others; batch: mean and sd of the whole epoch; tracked: of the last 32 "
          "rewards of the prompt; win-rate: group of the share of the others it beats; raw: r",
          {.equation = "E11", .silent_default = true}),
      Row("advantage_std", "group",
          Choices<AdvantageStd>{{"group", AdvantageStd::kGroup}, {"global", AdvantageStd::kGlobal}},
          &Train::advantage_std,
          "standard deviation that rewards are divided by where `advantage` is method and the method has no "
          "rule of its own: their group's, or that of all rewards of the epoch as the public configurations",
          {.equation = "E11", .silent_default = true}),
      Row("zero_std_groups", "keep", Choices<bool>{{"keep", false}, {"drop", true}},
          &Train::drop_zero_std_groups,
          "samples of groups whose rewards are all equal: keep counts them in the mean of the loss with "
          "advantage 0; drop takes the mean over the update's other samples, as the public code",
          {.equation = "E11", .silent_default = true}),
      Row("kl", 0, {0, 1e6}, &Train::kl, "weight of the KL term to the base model"),
      Row("ema_rule", "flow_grpo",
          Choices<EmaRule>{{"plain", EmaRule::kPlain},
                           {"diffusers", EmaRule::kDiffusers},
                           {"flow_grpo", EmaRule::kFlowGrpo}},
          in(&Train::ema, &EmaOptions::rule), "which published moving average of the weights"),
      Row("ema_decay", 0.9, {0, 0.999999}, in(&Train::ema, &EmaOptions::decay),
          "decay of the moving average"),
      Row("ema_interval", 1, {1, 1e6}, in(&Train::ema, &EmaOptions::interval),
          "updates between two steps of the moving average"),
      Row("ema_repeats", 1, {1, 1e6}, in(&Train::ema, &EmaOptions::repeats),
          "times that the average moves towards the same weights when it acts; above 1 with rule flow_grpo "
          "as in the public loop, which calls it after each micro-batch (4 on one GPU), so that it acts one "
          "update earlier, after updates interval - 1, 2 interval - 1, ...",
          {.silent_default = true}),
      Row("step_weight", "none",
          Choices<std::optional<ScoreWeight>>{{"none", std::nullopt}, {"score", ScoreWeight{}}},
          &Train::score_weight,
          "weight of each step's loss, for any method; score: clip(s_k / s_ref, weight_min, weight_max)",
          {"E48"}),
      // These three are read with step_weight score alone.
      Row("s_ref", nullptr, {1e-9, 1e9}, nullptr,
          "reference of step_weight score; default: the mean of s_k over the trained steps", {"E48"}),
      Row("weight_min", 0.1, {0, 1e6}, nullptr, "smallest weight of step_weight score", {"E48"}),
      Row("weight_max", 10.0, {0, 1e6}, nullptr, "largest weight of step_weight score", {"E48"}),
      Row("law_audit", "mark",
          Choices<AuditMode>{
              {"mark", AuditMode::kMark}, {"stop", AuditMode::kStop}, {"off", AuditMode::kOff}},
          &Train::law_audit,
          fmt::format("what happens to a run whose fresh log-ratios break the path-variance law by more than "
                      "{} standard errors and {:.0f} %: it is marked in every table, or stopped",
                      kLawBreakZ, kLawBreakShare * 100),
          {"E24, E25"}),
      Row("on_policy_tolerance", 0, {0, 1}, &Train::on_policy_tolerance,
          "largest |log-ratio| allowed where new and old policy are the same; above 0 weakens the guarantee "
          "of pairing"),
  };
  return rows;
}

const SettingRows<Evaluate>& evaluate_rows() {
  using Row = SettingRow<Evaluate>;
  static const SettingRows<Evaluate> rows = {
      Row("eval_steps", 10, {1, 1000}, &Evaluate::steps, "Euler steps per evaluation image",
          {.equation = "E2", .used_by = "evaluate"}),
      Row("eval_guidance", 1, {0, 100}, &Evaluate::guidance,
          "guidance of evaluation images, classifier-free or FLUX's input; 1: none", {.used_by = "evaluate"}),
      Row("eval_weights", "ema", Choices<bool>{{"ema", true}, {"raw", false}}, &Evaluate::use_ema,
          "which weights of a checkpoint are evaluated", {.used_by = "evaluate"}),
      Row("eval_shard", 16, {1, 4096}, &Evaluate::shard_size,
          "images per evaluation shard, a unit of fixed size", {.used_by = "evaluate"}),
      Row("leave_out_validation_prompts", false, SettingRange{}, &Evaluate::leaves_out_validation_prompts,
          "true: leave out test prompts whose text is also in validation; false: keep them, as in the paper",
          {.silent_default = true, .used_by = "evaluate"}),
  };
  return rows;
}

/// `rows` with those of rollouts and evaluations alike.
template <class S>
SettingRows<S> with_sampler(SettingRows<S> rows) {
  rows.emplace_back(
      "grid", "uniform",
      Choices<NoiseGrid>{{"uniform", NoiseGrid::kUniform},
                         {"diffusers", NoiseGrid::kDiffusers},
                         {"model", NoiseGrid::kModel}},
      &S::grid,
      "spacing of the noise levels before the shift: K equal steps, or as diffusers' "
      "FlowMatchEulerDiscreteScheduler; model: spacing and shift of the model's scheduler at the size of the "
      "image (FLUX.1), in place of `shift`",
      SettingNotes{.used_by = "both"});
  rows.emplace_back("shift", 1, SettingRange{0.01, 100}, &S::shift,
                    "sigma -> shift sigma / (1 + (shift - 1) sigma)", SettingNotes{.used_by = "both"});
  return rows;
}

/// In rising order.
std::vector<std::int64_t> divisors(std::int64_t number) {
  std::vector<std::int64_t> found;
  for (std::int64_t d = 1; d <= number; ++d) {
    if (number % d == 0) found.push_back(d);
  }
  return found;
}

std::vector<std::string> texts_of_divisors(std::int64_t number) {
  std::vector<std::string> texts;
  for (const auto divisor : divisors(number)) texts.push_back(fmt::format("{}", divisor));
  return texts;
}

std::int64_t usual_folds(std::int64_t shards) {
  constexpr std::int64_t kMost = 8;  // as many GPUs as a node has
  std::int64_t folds = 1;
  for (const auto divisor : divisors(shards)) {
    if (divisor <= kMost) folds = divisor;
  }
  return folds;
}

void check_prompts(const TrainSettings& t, const Settings& s) {
  if (t.prompts_per_epoch % (t.updates_per_epoch * t.shard_prompts) != 0) {
    s.fail("prompts_per_epoch",
           fmt::format("is {}, which cannot be split into {} updates of whole shards of {} prompts",
                       t.prompts_per_epoch, t.updates_per_epoch, t.shard_prompts),
           "choose a multiple of updates_per_epoch x shard_prompts");
  }
}

void check_together(const TrainSettings& t, const Settings& s) {
  if (t.score_weight && t.score_weight->minimum > t.score_weight->maximum)
    s.fail("weight_min", "is above weight_max");
  const auto shards = t.shards_of_an_update();
  if (shards % t.gradient_folds != 0) {
    s.fail("gradient_folds",
           fmt::format("is {}, and the {} shards of an update cannot be split into that many equal folds",
                       t.gradient_folds, shards),
           "choose one of " + join(texts_of_divisors(shards), ", "));
  }
  if (t.trained_steps > t.sampling_steps)
    s.fail("trained_steps", fmt::format("is {}, above sampling_steps {}", t.trained_steps, t.sampling_steps));
  if (t.late_steps > t.trained_steps)
    s.fail("late_steps", fmt::format("is {}, above the {} trained steps", t.late_steps, t.trained_steps));
}

}  // namespace

TrainSettings read_train_settings(const Json& given, const std::string& where) {
  static const auto rows = with_sampler(train_rows());
  Json values = given;
  TrainSettings t;
  t.checkpoints = values.value("checkpoints", std::vector<std::int64_t>{});
  values.erase("checkpoints");
  Settings s(settings_of(rows), values, where);
  read_rows(rows, s, t);
  if (t.trained_steps == 0) t.trained_steps = t.sampling_steps;
  if (t.score_weight) {
    t.score_weight = {.reference = s.number_if_given("s_ref"),
                      .minimum = s.number("weight_min"),
                      .maximum = s.number("weight_max")};
  }
  s.finish();
  check_prompts(t, s);
  if (t.gradient_folds == 0) {
    t.gradient_folds = usual_folds(t.shards_of_an_update());
    s.report("gradient_folds", t.gradient_folds);
  }
  t.effective = s.effective();
  check_together(t, s);
  for (const auto step : t.checkpoints) {
    if (step < 1 || step > t.updates)
      throw Error(fmt::format("checkpoint {} is outside updates 1 to {}", step, t.updates), where);
  }
  return t;
}

void require_shared_folds(const TrainSettings& settings, int ranks, const std::string& where) {
  if (settings.gradient_folds % ranks == 0) return;
  throw Error(fmt::format("{} processes cannot share the {} of an update", ranks,
                          counted(settings.gradient_folds, "gradient fold")),
              where,
              fmt::format("take {}; or make updates of more shards (prompts_per_epoch, shard_prompts)",
                          join(texts_of_divisors(settings.gradient_folds), " or ")));
}

EvaluateSettings read_evaluate_settings(const Json& given, const std::string& where) {
  static const auto rows = with_sampler(evaluate_rows());
  EvaluateSettings e;
  Settings s(settings_of(rows), given, where);
  read_rows(rows, s, e);
  s.finish();
  return e;
}

std::vector<Setting> loop_settings() {
  return merged(settings_of(with_sampler(train_rows())), settings_of(evaluate_rows()));
}

}  // namespace harness
