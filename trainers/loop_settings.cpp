#include "trainers/loop_settings.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"
#include "core/law_limits.h"
#include "core/settings.h"

namespace harness {
namespace {

constexpr double kMany = 1e6;

const std::vector<Setting>& sampler_settings() {
  static const std::vector<Setting> settings = {
      {.name = "grid",
       .default_value = "uniform",
       .choices = {"uniform", "diffusers"},
       .help = "spacing of the noise levels before the shift: K equal steps, or as diffusers' "
               "FlowMatchEulerDiscreteScheduler"},
      {.name = "shift",
       .default_value = 1.0,
       .minimum = 0.01,
       .maximum = 100,
       .help = "sigma -> shift sigma / (1 + (shift - 1) sigma)"},
  };
  return settings;
}

const std::vector<Setting>& train_settings() {
  static const std::vector<Setting> settings = {
      {.name = "prompts_per_epoch",
       .default_value = 8,
       .minimum = 1,
       .maximum = kMany,
       .help = "prompts (groups) of an epoch"},
      {.name = "group_size",
       .default_value = 8,
       .minimum = 2,
       .maximum = kMany,
       .help = "images of a prompt, whose rewards are compared",
       .equation = "E11"},
      {.name = "updates_per_epoch",
       .default_value = 2,
       .minimum = 1,
       .maximum = kMany,
       .help = "optimiser steps of an epoch, on disjoint parts of its samples"},
      {.name = "inner_epochs",
       .default_value = 1,
       .minimum = 1,
       .maximum = 1000,
       .help = "times that an epoch's samples are used"},
      {.name = "updates",
       .default_value = 80,
       .minimum = 1,
       .maximum = 1e9,
       .help = "optimiser steps of the whole run"},
      {.name = "shard_prompts",
       .default_value = 2,
       .minimum = 1,
       .maximum = kMany,
       .help = "prompts of a shard, the unit of work of fixed composition; batch means inside an objective "
               "are taken over it"},
      {.name = "sampling_steps",
       .default_value = 10,
       .minimum = 1,
       .maximum = 1000,
       .help = "SDE steps of a rollout",
       .equation = "E8"},
      {.name = "trained_steps",
       .default_value = 0,
       .minimum = 0,
       .maximum = 1000,
       .help = "the first so many steps are trained; 0: all"},
      {.name = "late_steps",
       .default_value = 5,
       .minimum = 1,
       .maximum = 1000,
       .help = "size of the late set: the last trained steps",
       .equation = "E46, E47"},
      {.name = "noise_level",
       .default_value = 0.7,
       .minimum = 1e-3,
       .maximum = 10,
       .help = "a of sigma_t = a sqrt(t / (1 - t))",
       .equation = "E6"},
      {.name = "guidance",
       .default_value = 1.0,
       .minimum = 0,
       .maximum = 100,
       .help = "classifier-free guidance of rollouts and training; 1: none"},
      {.name = "lr", .default_value = 5e-5, .minimum = 0, .maximum = 1, .help = "AdamW: learning rate"},
      {.name = "lr_warmup",
       .default_value = 0,
       .minimum = 0,
       .maximum = 1e9,
       .help = "updates over which the learning rate rises linearly: update u takes u / lr_warmup of it",
       .silent_default = true},
      {.name = "beta1",
       .default_value = 0.9,
       .minimum = 0,
       .maximum = 0.999999,
       .help = "AdamW: decay of the first moment"},
      {.name = "beta2",
       .default_value = 0.999,
       .minimum = 0,
       .maximum = 0.999999,
       .help = "AdamW: decay of the second moment"},
      {.name = "adam_eps", .default_value = 1e-8, .minimum = 0, .maximum = 1, .help = "AdamW: epsilon"},
      {.name = "weight_decay",
       .default_value = 1e-4,
       .minimum = 0,
       .maximum = 1,
       .help = "AdamW: decoupled weight decay"},
      {.name = "max_grad_norm",
       .default_value = 1.0,
       .minimum = 1e-9,
       .maximum = 1e9,
       .help = "gradients are clipped to this global norm"},
      {.name = "advantage_limit",
       .default_value = 5.0,
       .minimum = 1e-3,
       .maximum = 1e6,
       .help = "advantages are clamped to plus or minus this",
       .equation = "E11"},
      {.name = "advantage_std",
       .default_value = "group",
       .choices = {"group", "global"},
       .help = "standard deviation that rewards are divided by: their group's, or that of all rewards of the "
               "epoch as the public configurations; the mean is the group's in both",
       .equation = "E11",
       .silent_default = true},
      {.name = "zero_std_groups",
       .default_value = "keep",
       .choices = {"keep", "drop"},
       .help = "samples of groups whose rewards are all equal: keep counts them in the mean of the loss with "
               "advantage 0; drop takes the mean over the update's other samples, as the public code",
       .equation = "E11",
       .silent_default = true},
      {.name = "kl",
       .default_value = 0.0,
       .minimum = 0,
       .maximum = 1e6,
       .help = "weight of the KL term to the starting weights"},
      {.name = "ema_rule",
       .default_value = "flow_grpo",
       .choices = {"plain", "diffusers", "flow_grpo"},
       .help = "which published moving average of the weights"},
      {.name = "ema_decay",
       .default_value = 0.9,
       .minimum = 0,
       .maximum = 0.999999,
       .help = "decay of the moving average"},
      {.name = "ema_interval",
       .default_value = 1,
       .minimum = 1,
       .maximum = 1e6,
       .help = "updates between two steps of the average"},
      {.name = "ema_repeats",
       .default_value = 1,
       .minimum = 1,
       .maximum = 1e6,
       .help = "times that the average moves towards the same weights when it acts; above 1 with rule "
               "flow_grpo as in the public loop, which calls it after each micro-batch (4 on one GPU), so "
               "that it acts one update earlier, after updates interval - 1, 2 interval - 1, ...",
       .silent_default = true},
      {.name = "step_weight",
       .default_value = "none",
       .choices = {"none", "score"},
       .help = "weight of each step's loss, for any method; score: clip(s_k / s_ref, weight_min, weight_max)",
       .equation = "E48"},
      {.name = "s_ref",
       .minimum = 1e-9,
       .maximum = 1e9,
       .help = "reference of step_weight score; default: the mean of s_k over the trained steps",
       .equation = "E48"},
      {.name = "weight_min",
       .default_value = 0.1,
       .minimum = 0,
       .maximum = 1e6,
       .help = "smallest weight of step_weight score",
       .equation = "E48"},
      {.name = "weight_max",
       .default_value = 10.0,
       .minimum = 0,
       .maximum = 1e6,
       .help = "largest weight of step_weight score",
       .equation = "E48"},
      {.name = "law_audit",
       .default_value = "mark",
       .choices = {"mark", "stop", "off"},
       .help = fmt::format("what happens to a run whose fresh log-ratios break the path-variance law by more "
                           "than {} standard errors and {:.0f} %: it is marked in every table, or stopped",
                           kLawBreakZ, kLawBreakShare * 100),
       .equation = "E24, E25"},
      {.name = "on_policy_tolerance",
       .default_value = 0.0,
       .minimum = 0,
       .maximum = 1,
       .help = "largest |log-ratio| allowed where new and old policy are the same; above 0 the pairing "
               "promise is weakened"},
  };
  return settings;
}

const std::vector<Setting>& evaluate_settings() {
  static const std::vector<Setting> settings = {
      {.name = "eval_steps",
       .default_value = 10,
       .minimum = 1,
       .maximum = 1000,
       .help = "Euler steps of an evaluation image",
       .equation = "E2"},
      {.name = "eval_guidance",
       .default_value = 1.0,
       .minimum = 0,
       .maximum = 100,
       .help = "classifier-free guidance of evaluation images; 1: none"},
      {.name = "eval_weights",
       .default_value = "ema",
       .choices = {"ema", "raw"},
       .help = "which weights of a checkpoint are evaluated"},
      {.name = "eval_shard",
       .default_value = 16,
       .minimum = 1,
       .maximum = 4096,
       .help = "images of an evaluation shard, a unit of fixed size"},
  };
  return settings;
}

AuditMode audit_mode(const std::string& name) {
  if (name == "off") return AuditMode::kOff;
  return name == "stop" ? AuditMode::kStop : AuditMode::kMark;
}

ScoreWeight score_weight(Settings& s) {
  const ScoreWeight weight{.reference = s.number_if_given("s_ref"),
                           .minimum = s.number("weight_min"),
                           .maximum = s.number("weight_max")};
  if (weight.minimum > weight.maximum) s.fail("weight_min", "is above weight_max");
  return weight;
}

Json described(const std::vector<Setting>& settings, const char* used_by) {
  Json list = describe(settings);
  for (auto& item : list) item["used_by"] = used_by;
  return list;
}

}  // namespace

TrainSettings read_train_settings(const Json& given, const std::string& where) {
  Json values = given;
  TrainSettings t;
  t.checkpoints = values.value("checkpoints", std::vector<std::int64_t>{});
  values.erase("checkpoints");
  Settings s(merged(train_settings(), sampler_settings()), values, where);
  t.prompts_per_epoch = s.integer("prompts_per_epoch");
  t.group_size = s.integer("group_size");
  t.updates_per_epoch = s.integer("updates_per_epoch");
  t.inner_epochs = s.integer("inner_epochs");
  t.updates = s.integer("updates");
  t.shard_prompts = s.integer("shard_prompts");
  t.sampling_steps = static_cast<int>(s.integer("sampling_steps"));
  t.trained_steps = static_cast<int>(s.integer("trained_steps"));
  if (t.trained_steps == 0) t.trained_steps = t.sampling_steps;
  t.late_steps = static_cast<int>(s.integer("late_steps"));
  t.noise_level = s.number("noise_level");
  t.guidance = s.number("guidance");
  t.grid = parse_grid(s.choice("grid"), where);
  t.shift = s.number("shift");
  t.adamw = {s.number("lr"), s.number("beta1"), s.number("beta2"), s.number("adam_eps"),
             s.number("weight_decay")};
  t.lr_warmup = s.integer("lr_warmup");
  t.max_grad_norm = s.number("max_grad_norm");
  t.advantage_limit = s.number("advantage_limit");
  t.advantage_std = s.choice("advantage_std") == "global" ? AdvantageStd::kGlobal : AdvantageStd::kGroup;
  t.drop_zero_std_groups = s.choice("zero_std_groups") == "drop";
  t.kl = s.number("kl");
  t.ema.rule = parse_ema_rule(s.choice("ema_rule"), where);
  t.ema.decay = s.number("ema_decay");
  t.ema.interval = static_cast<int>(s.integer("ema_interval"));
  t.ema.repeats = static_cast<int>(s.integer("ema_repeats"));
  t.on_policy_tolerance = s.number("on_policy_tolerance");
  t.law_audit = audit_mode(s.choice("law_audit"));
  if (s.choice("step_weight") == "score") t.score_weight = score_weight(s);
  s.finish();
  t.effective = s.effective();
  if (t.prompts_per_epoch % (t.updates_per_epoch * t.shard_prompts) != 0) {
    s.fail("prompts_per_epoch",
           fmt::format("{} cannot be split into {} updates of whole shards of {} prompts",
                       t.prompts_per_epoch, t.updates_per_epoch, t.shard_prompts),
           "choose a multiple of updates_per_epoch x shard_prompts");
  }
  if (t.trained_steps > t.sampling_steps)
    s.fail("trained_steps", fmt::format("{} exceeds sampling_steps {}", t.trained_steps, t.sampling_steps));
  if (t.late_steps > t.trained_steps)
    s.fail("late_steps", fmt::format("{} exceeds the {} trained steps", t.late_steps, t.trained_steps));
  for (const auto step : t.checkpoints) {
    if (step < 1 || step > t.updates)
      throw Error(fmt::format("checkpoint {} lies outside updates 1 to {}", step, t.updates), where);
  }
  return t;
}

EvaluateSettings read_evaluate_settings(const Json& given, const std::string& where) {
  EvaluateSettings e;
  Settings s(merged(evaluate_settings(), sampler_settings()), given, where);
  e.steps = static_cast<int>(s.integer("eval_steps"));
  e.guidance = s.number("eval_guidance");
  e.grid = parse_grid(s.choice("grid"), where);
  e.shift = s.number("shift");
  e.shard_size = s.integer("eval_shard");
  e.use_ema = s.choice("eval_weights") == "ema";
  s.finish();
  return e;
}

Json describe_loop_settings() {
  Json list = described(train_settings(), "train");
  for (const auto& part :
       {described(sampler_settings(), "both"), described(evaluate_settings(), "evaluate")}) {
    list.insert(list.end(), part.begin(), part.end());
  }
  return list;
}

}  // namespace harness
