// Which settings are in the identity of a run. The lists are those of runs that were recorded: a setting that
// is added to them gives every run a new id, and all of them would be trained again. One that is added to the
// program says `silent_default` (core/settings/settings.h).
#include <gtest/gtest.h>

#include "trainers/loop_settings.h"
#include "trainers/method.h"

namespace harness {
namespace {

/// {name: default} of the settings that identities hold whatever their value.
Json in_every_identity(const Json& described) {
  Json defaults = Json::object();
  for (const auto& setting : described) {
    if (!setting.at("silent_default").get<bool>()) defaults[setting.at("name")] = setting.at("default");
  }
  return defaults;
}

const Json kLoop = Json::parse(R"json({
  "adam_eps": 1e-08, "advantage_limit": 5.0, "beta1": 0.9, "beta2": 0.999, "ema_decay": 0.9,
  "ema_interval": 1, "ema_rule": "flow_grpo", "eval_guidance": 1.0, "eval_shard": 16,
  "eval_steps": 10, "eval_weights": "ema", "gradient_folds": 0, "grid": "uniform", "group_size": 8, "guidance": 1.0,
  "inner_epochs": 1, "kl": 0.0, "late_steps": 5, "law_audit": "mark", "lr": 5e-05,
  "max_grad_norm": 1.0, "noise_level": 0.7, "on_policy_tolerance": 0.0, "prompts_per_epoch": 8,
  "s_ref": null, "sampling_steps": 10, "shard_prompts": 2, "shift": 1.0, "step_weight": "none",
  "trained_steps": 0, "updates": 80, "updates_per_epoch": 2, "weight_decay": 0.0001,
  "weight_max": 10.0, "weight_min": 0.1
})json");

const Json kMethods = Json::parse(R"json({
  "dual": {
    "alpha": null, "base": "ratio-norm", "beta_init": null, "beta_max": null, "centring": "sample",
    "clip": null, "clip_rule": "public", "delta": 0.0, "eps_lambda": null, "eta_beta": null,
    "form": "main", "gamma": 0.2, "kappa": 0.01, "nu": null, "nu_rule": "eps2", "q": null},
  "flow-grpo": {
    "clip": null, "clip_rule": "public", "q": null},
  "lambda-controlled": {
    "clip": null, "clip_rule": "public", "eps_lambda": null, "form": "main", "kappa": 0.01,
    "nu": null, "nu_rule": "eps2", "q": null},
  "lambda-norm-t": {
    "clip": null, "clip_rule": "public", "eps_lambda": null, "form": "main", "kappa": 0.01,
    "nu": null, "nu_rule": "eps2", "q": null},
  "lambda-z-clip": {
    "clip": null, "clip_rule": "public", "eps_lambda": null, "kappa": 0.01, "q": null,
    "z_clip": 1.0},
  "ratio-norm": {
    "centring": "sample", "clip": null, "clip_rule": "public", "q": null}
})json");

TEST(Identities, OfRecordedRunsHoldTheSameLoopSettingsWithTheSameDefaults) {
  EXPECT_EQ(canonical_json(in_every_identity(describe(loop_settings()))), canonical_json(kLoop));
}

TEST(Identities, OfRecordedRunsHoldTheSameMethodSettingsWithTheSameDefaults) {
  const auto described = describe_methods();
  for (const auto& [name, recorded] : kMethods.items()) {
    for (const auto& method : described) {
      if (method.at("name") != name) continue;
      EXPECT_EQ(canonical_json(in_every_identity(method.at("settings"))), canonical_json(recorded)) << name;
    }
  }
}

TEST(Identities, ASilentDefaultIsAValueAndNotADerivedOne) {
  auto all = describe(loop_settings());
  for (const auto& method : describe_methods()) {
    for (const auto& setting : method.at("settings")) all.push_back(setting);
  }
  for (const auto& setting : all) {
    if (!setting.at("silent_default").get<bool>()) continue;
    EXPECT_FALSE(setting.at("default").is_null()) << setting.at("name");
  }
}

}  // namespace
}  // namespace harness
