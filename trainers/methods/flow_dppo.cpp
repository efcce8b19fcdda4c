#include <fmt/format.h>

#include "trainers/methods/drawn_steps.h"

namespace harness {
namespace {

/// unirl: Flow-DPPO's own repository (examples/diffusion/sd3_flowdppo.yaml).
Presets presets(const MethodContext&) {
  return {{"harness", {{"sde_steps", 0}, {"advantage_rule", "loop"}}},
          {"unirl", {{"sde_steps", 3}, {"advantage_rule", "global"}}}};
}

/// Flow-DPPO (arXiv 2606.11025; Tencent-Hunyuan/UniRL, algorithms/flowdppo.py): a divergence mask in place of
/// the clip.
///   d = lambda_center / 2, the step's mean-reduced KL to the sampling policy, without gradient
///   keep = not (d >= delta and ((A > 0 and r > 1) or (A < 0 and r < 1))), r = exp(y)
///   loss = mean over all samples of -A r keep
/// Samples that are dropped count in the mean. delta 1e-5 is that of D = 65536 and does not scale with D at
/// equal lambda_center. The public s of d puts 1 - min(sigma, 0.99) in E6, so its d of a step from sigma = 1
/// is about 4 times smaller; here it is the sampler's s. The loop clamps A, the public code does not.
class FlowDppo : public Method {
 public:
  FlowDppo(Settings& settings, const MethodContext& context)
      : delta_(settings.number("delta")), squared_(settings.choice("divergence") == "squared") {
    PresetReader preset(settings, presets(context));
    const int half = context.sampling_steps / 2;
    steps_ = {.placement = DrawnSteps::Placement::kScattered, .count = preset.whole("sde_steps"), .to = half};
    if (steps_.count > half)
      settings.fail("sde_steps",
                    fmt::format("is {}, more than the {} steps of the first half", steps_.count, half),
                    "lower it, 0 for all steps, or raise sampling_steps");
    advantage_rule_ = read_advantage_rule(settings, preset, context);
  }

  RolloutPlan plan(const PlanContext& context) const override {
    if (steps_.count == 0) return flow_sde_plan(context);
    return plan_of_steps(context, {StepRule::Kind::kFlowSde, context.noise_level}, steps_.at(context));
  }

  std::optional<AdvantageRule> advantage_rule() const override { return advantage_rule_; }

  Surrogate step(const StepStats& stats) const override {
    const auto& advantage = stats.advantage;
    const auto ratio = stats.y.exp();
    const auto outward =
        (advantage > 0).logical_and(ratio > 1).logical_or((advantage < 0).logical_and(ratio < 1));
    const auto dropped = outward.logical_and(divergence(stats) >= delta_);
    return {.ratio = ratio,
            .slope = torch::ones_like(stats.y.detach()),
            .loss = -advantage * ratio * dropped.logical_not().to(ratio.scalar_type()),
            .clipped = dropped};
  }

  static std::vector<Setting> settings() {
    return {preset_setting(presets({})),
            advantage_rule_setting(),
            {.name = "delta",
             .default_value = 1e-5,
             .minimum = 0,
             .help = "divergence from which on a sample that moves outward is dropped"},
            {.name = "divergence",
             .default_value = "kl",
             .choices = {"kl", "squared"},
             .help = "kl: mean((mu - mu_old)^2) / (2 s^2); squared: mean((mu - mu_old)^2)",
             .equation = "E27"},
            {.name = "sde_steps",
             .minimum = 0,
             .maximum = 1000,
             .help = "steps with noise, which are trained, drawn for every epoch of the first half of the "
                     "schedule; 0: all steps have noise, and the loop's trained_steps are trained. Default: "
                     "by preset"}};
  }

 private:
  torch::Tensor divergence(const StepStats& stats) const {
    const auto center = stats.lambda_center.detach();
    return squared_ ? center * (stats.s * stats.s) : center / 2;
  }

  double delta_;
  bool squared_;
  DrawnSteps steps_;
  std::optional<AdvantageRule> advantage_rule_;
};

const bool kRegistered = register_method({
    .name = "flow-dppo",
    .summary = "samples that move away beyond a divergence are dropped, in place of the clip",
    .equations = "-A exp(y), 0 where lambda_center / 2 >= delta and exp(y) moves outward",
    .settings = FlowDppo::settings(),
    .make = [](Settings& s, const MethodContext& c) { return std::make_unique<FlowDppo>(s, c); },
});

}  // namespace
}  // namespace harness
