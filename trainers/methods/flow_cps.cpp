#include <algorithm>

#include "trainers/methods/cps_clip.h"
#include "trainers/methods/drawn_steps.h"

namespace harness {
namespace {

/// `upstream`: flow_grpo's config/grpo.py, geneval_sd3_fast_nocfg and pickscore_sd3_fast_nocfg.
Presets presets(const MethodContext& context) {
  return {{"harness",
           {{"window", 0},
            {"window_from", 0},
            {"window_to", std::clamp(context.sampling_steps - 1, 1, 5)},
            {"placement", "window"},
            {"advantage_rule", "loop"}}},
          {"upstream",
           {{"window", 3},
            {"window_from", 0},
            {"window_to", 5},
            {"placement", "window"},
            {"advantage_rule", "global"}}}};
}

/// Flow-CPS (arXiv 2509.05952; yifan123/flow_grpo, sd3_sde_with_logprob.py; IamCreateAI/FlowCPS): steps whose
/// whole noise level is exactly sigma'.
///   mu = (1 - sigma') (x - sigma v) + sqrt(sigma'^2 - s^2) (x + (1 - sigma) v), s = sigma' sin(a pi / 2)
/// ratio = exp(2 s^2 y) (CpsClip). The last step has s = 0, gives the clean prediction as Euler's does, and
/// is not trained. The public KL, weight 0 in its configurations, is divided by 2 s^2.
class FlowCps : public CpsClip {
 public:
  FlowCps(Settings& settings, const MethodContext& context)
      : CpsClip(settings, context), level_(settings.number("level")), kl_(settings.number("kl_weight")) {
    PresetReader preset(settings, presets(context));
    steps_ = read_drawn_steps(settings, preset, context, context.sampling_steps - 1);
    advantage_rule_ = read_advantage_rule(settings, preset, context);
  }

  RolloutPlan plan(const PlanContext& context) const override {
    return plan_of_steps(context, {StepRule::Kind::kCps, level_}, steps_.at(context));
  }

  std::optional<AdvantageRule> advantage_rule() const override { return advantage_rule_; }

  std::optional<ReferenceKl> reference_kl() const override {
    if (kl_ == 0) return {};
    return ReferenceKl{.weight = kl_, .per_step_variance = true};
  }

  static std::vector<Setting> settings() {
    const std::vector<Setting> own = {
        preset_setting(presets({})),
        advantage_rule_setting(),
        {.name = "level",
         .default_value = 0.8,
         .minimum = 1e-3,
         .maximum = 1,
         .help =
             "a: share of the next noise level that is drawn anew is sin(a pi / 2); in place of the loop's "
             "noise_level"},
        {.name = "kl_weight",
         .default_value = 0.0,
         .minimum = 0,
         .maximum = 1e6,
         .help = "weight of mean((mu - mu_ref)^2) / (2 s^2) to the starting weights; 0: by the loop's kl"}};
    return merged(merged(CpsClip::settings(), drawn_steps_settings()), own);
  }

 private:
  double level_, kl_;
  DrawnSteps steps_;
  std::optional<AdvantageRule> advantage_rule_;
};

const bool kRegistered = register_method({
    .name = "flow-cps",
    .summary = "Flow-GRPO on coefficients-preserving sampling, whose images carry no excess noise",
    .equations = "s = sigma' sin(a pi / 2), r = exp(2 s^2 y), clipped (E12)",
    .settings = FlowCps::settings(),
    .make = [](Settings& s, const MethodContext& c) { return std::make_unique<FlowCps>(s, c); },
});

}  // namespace
}  // namespace harness
