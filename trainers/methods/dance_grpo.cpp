#include <fmt/format.h>

#include <algorithm>

#include "trainers/methods/drawn_steps.h"
#include "trainers/methods/plain_clip.h"

namespace harness {
namespace {

/// upstream: XueZeyue/DanceGRPO's FLUX script; unirl: its sd3_dancegrpo.
Presets presets(const MethodContext& context) {
  const int all = std::max(1, context.sampling_steps - 1);
  const auto preset = [](double eta, int count, int of, const char* noise, const char* shared,
                         const char* rule) -> std::map<std::string, Json> {
    return {{"eta", eta},     {"drawn_steps", count},   {"drawn_of", of},
            {"noise", noise}, {"shared_start", shared}, {"advantage_rule", rule}};
  };
  return {{"harness", preset(0.3, all, all, "all", "yes", "loop")},
          {"upstream", preset(0.3, std::max(1, static_cast<int>(0.6 * all)), all, "all", "yes", "unbiased")},
          {"unirl", preset(0.7, 3, context.sampling_steps / 2, "trained", "no", "global")}};
}

/// DanceGRPO (arXiv 2505.07818; XueZeyue/DanceGRPO, train_grpo_flux.py): E8 with a constant std_k = eta, so
/// s_k = eta sqrt(dt) and nothing is singular at sigma = 1; clipped exp(y) (E12) on a random subset of the
/// steps. The images of a prompt start from one noise.
///
/// The last step is never trained and the image is its clean prediction: Euler's step to sigma = 0. The
/// public code draws the subset, int(0.6 (K - 1)) steps, for each sample; here it is one an epoch. It keeps
/// trajectories in bfloat16, so that its first ratios are not 1.
class DanceGrpo : public PlainClip {
 public:
  DanceGrpo(Settings& settings, const MethodContext& context) : PlainClip(settings, context) {
    PresetReader preset(settings, presets(context));
    eta_ = preset.number("eta");
    trained_ = {.placement = DrawnSteps::Placement::kScattered,
                .count = preset.whole("drawn_steps"),
                .to = preset.whole("drawn_of")};
    if (trained_.to > context.sampling_steps - 1)
      settings.fail("drawn_of",
                    fmt::format("is {}, and of the {} steps all but the last can be trained", trained_.to,
                                context.sampling_steps),
                    "lower it, or raise sampling_steps");
    if (trained_.count > trained_.to)
      settings.fail("drawn_steps",
                    fmt::format("is {}, more than the {} of drawn_of", trained_.count, trained_.to));
    noise_at_all_ = preset.choice("noise") == "all";
    shared_start_ = preset.choice("shared_start") == "yes";
    advantage_rule_ = read_advantage_rule(settings, preset, context);
  }

  RolloutPlan plan(const PlanContext& context) const override {
    const StepRule rule{StepRule::Kind::kConstant, eta_};
    auto plan = plan_of_steps(context, rule, trained_.at(context));
    if (noise_at_all_) {
      for (std::size_t k = 0; k + 1 < plan.steps.size(); ++k) plan.steps[k].rule = rule;
    }
    plan.shared_start = shared_start_;
    return plan;
  }

  std::optional<AdvantageRule> advantage_rule() const override { return advantage_rule_; }

  static std::vector<Setting> settings();

 private:
  double eta_;
  DrawnSteps trained_;
  bool noise_at_all_, shared_start_;
  std::optional<AdvantageRule> advantage_rule_;
};

std::vector<Setting> DanceGrpo::settings() {
  const std::vector<Setting> own = {
      preset_setting(presets({})),
      advantage_rule_setting(),
      {.name = "eta",
       .minimum = 1e-3,
       .maximum = 10,
       .help = "std of every step, in place of E6 and of the loop's noise_level. Default: by preset",
       .equation = "E8"},
      {.name = "drawn_steps",
       .minimum = 1,
       .maximum = 1000,
       .help = "steps that are trained, drawn for every epoch. Default: by preset"},
      {.name = "drawn_of",
       .minimum = 1,
       .maximum = 1000,
       .help =
           "they are drawn of that many, from the first; the schedule's last is never trained. Default: by "
           "preset"},
      {.name = "noise",
       .choices = {"all", "trained"},
       .help = "steps that have noise: all but the last, or those that are trained. Default: by preset"},
      {.name = "shared_start",
       .choices = {"no", "yes"},
       .help = "whether the images of a prompt start from one noise. Default: by preset"}};
  return merged(PlainClip::settings(), own);
}

const bool kRegistered = register_method({
    .name = "dance-grpo",
    .summary = "Flow-GRPO with noise of a constant coefficient and images that start from one noise",
    .equations = "std_k = eta (E8), r = exp(y) (E12)",
    .settings = DanceGrpo::settings(),
    .make = [](Settings& s, const MethodContext& c) { return std::make_unique<DanceGrpo>(s, c); },
});

}  // namespace
}  // namespace harness
