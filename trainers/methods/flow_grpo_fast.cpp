#include <fmt/format.h>

#include <algorithm>

#include "trainers/methods/cps_clip.h"
#include "trainers/methods/drawn_steps.h"

namespace harness {
namespace {

constexpr double kPublicCpsLevel = 0.8;

/// upstream: flow_grpo's sd3_fast configurations; flow-factory and unirl: their GRPO for SD3.5.
Presets presets(const MethodContext& context) {
  const int steps = context.sampling_steps, room = std::clamp(steps - 1, 1, 5);
  const auto preset = [](int window, int from, int to, const char* placement, const char* sampler, Json level,
                         const char* rule) -> std::map<std::string, Json> {
    return {{"window", window},   {"window_from", from}, {"window_to", to},       {"placement", placement},
            {"sampler", sampler}, {"level", level},      {"advantage_rule", rule}};
  };
  return {{"harness", preset(std::min(2, room), 0, room, "window", "flow-sde", {}, "loop")},
          {"upstream", preset(3, 0, 5, "window", "cps", kPublicCpsLevel, "global")},
          {"flow-factory", preset(2, 1, 6, "scattered", "flow-sde", 0.8, "floor")},
          {"unirl", preset(3, 0, steps / 2, "scattered", "flow-sde", {}, "global")}};
}

/// Flow-GRPO-Fast (yifan123/flow_grpo, sd3_pipeline_with_logprob_fast.py and train_sd3_fast.py): only a
/// window J of consecutive steps has noise and is trained, all others are Euler's:
///   loss = mean over k in J of clip(r_k), J = {start, .., start + w - 1}, start uniform in [r0, r1 - w]
/// The public code draws it once a batch on each process; here it is one draw an epoch for all images. Its
/// first version (FlowCPS, 2025) forked copies of one trajectory at a random step; this is not that. With
/// Flow-SDE the divisor at sigma = 1 is E6's (sigmas[1]).
class FlowGrpoFast : public Method {
 public:
  FlowGrpoFast(Settings& settings, const MethodContext& context) {
    PresetReader preset(settings, presets(context));
    const bool cps = preset.choice("sampler") == "cps";
    rule_.kind = cps ? StepRule::Kind::kCps : StepRule::Kind::kFlowSde;
    level_ = read_level(settings, preset, cps);
    steps_ = read_drawn_steps(settings, preset, context, context.sampling_steps - (cps ? 1 : 0));
    advantage_rule_ = read_advantage_rule(settings, preset, context);
    if (cps) {
      loss_ = std::make_unique<CpsClip>(settings, context);
    } else {
      loss_ = std::make_unique<PlainClip>(settings, context);
    }
  }

  Surrogate step(const StepStats& stats) const override { return loss_->step(stats); }

  RolloutPlan plan(const PlanContext& context) const override {
    auto rule = rule_;
    rule.level = level_.value_or(context.noise_level);
    return plan_of_steps(context, rule, steps_.at(context));
  }

  std::optional<AdvantageRule> advantage_rule() const override { return advantage_rule_; }

  static std::vector<Setting> settings();

 private:
  /// Nothing: the loop's noise_level.
  static std::optional<double> read_level(Settings& settings, PresetReader& preset, bool cps) {
    const auto level = preset.number_or_null("level");
    if (cps && level && *level > 1)
      settings.fail("level", fmt::format("is {:g}, and cps takes sin(level pi / 2)", *level),
                    "give 1 or less");
    if (level || !cps) return level;
    settings.report("level", kPublicCpsLevel);
    return kPublicCpsLevel;
  }

  StepRule rule_;
  std::optional<double> level_;
  DrawnSteps steps_;
  std::optional<AdvantageRule> advantage_rule_;
  std::unique_ptr<Method> loss_;
};

std::vector<Setting> FlowGrpoFast::settings() {
  const std::vector<Setting> own = {
      preset_setting(presets({})),
      advantage_rule_setting(),
      {.name = "sampler",
       .choices = {"flow-sde", "cps"},
       .help = "flow-sde: steps by E8, ratio exp(y); cps: coefficients-preserving steps and the settings of "
               "flow-cps. Default: by preset",
       .equation = "E8"},
      {.name = "level",
       .minimum = 1e-3,
       .maximum = 10,
       .help = "noise level of the steps that have noise. Default: by preset, which for flow-sde may be the "
               "loop's noise_level"}};
  auto all = merged(merged(CpsClip::settings(), drawn_steps_settings()), own);
  std::ranges::find(all, "clip_rule", &Setting::name)->help =
      "where the PPO radius comes from, as for flow-grpo or, with sampler cps, flow-cps";
  return all;
}

const bool kRegistered = register_method({
    .name = "flow-grpo-fast",
    .summary = "Flow-GRPO that samples with noise, and trains, a window of steps alone",
    .equations = "r = exp(y) (E12) at the steps of the window, no noise at all others (E2)",
    .settings = FlowGrpoFast::settings(),
    .make = [](Settings& s, const MethodContext& c) { return std::make_unique<FlowGrpoFast>(s, c); },
});

}  // namespace
}  // namespace harness
