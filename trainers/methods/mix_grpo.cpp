#include <fmt/format.h>

#include <algorithm>

#include "trainers/methods/plain_clip.h"
#include "trainers/methods/preset.h"

namespace harness {
namespace {

using Strategy = SlidingWindow::Strategy;

/// upstream: Tencent-Hunyuan/MixGRPO; unirl: its sd3_mixgrpo, whose overlap of 1 means windows that share one
/// step, where upstream's means a stride of 1.
Presets presets(const MethodContext& context) {
  const int end = std::max(1, context.sampling_steps - 2);
  const auto preset = [&](int window, int stay, int stride, const char* shared,
                          const char* rule) -> std::map<std::string, Json> {
    return {{"window", window}, {"stay", stay},           {"stride", stride},
            {"window_to", end}, {"shared_start", shared}, {"advantage_rule", rule}};
  };
  return {{"harness", preset(std::min(4, end), 5, 1, "no", "loop")},
          {"upstream", preset(4, 25, 1, "yes", "unbiased")},
          {"unirl", preset(4, 25, 3, "yes", "global")}};
}

const std::map<std::string, std::optional<Strategy>> kStrategies = {{"progressive", Strategy::kProgressive},
                                                                    {"random", Strategy::kRandom},
                                                                    {"decay", Strategy::kDecay},
                                                                    {"exp-decay", Strategy::kExpDecay},
                                                                    {"fixed", {}}};

/// MixGRPO (arXiv 2507.21802; Tencent-Hunyuan/MixGRPO, grpo_states.py, sampling_utils.py): Flow-SDE (E8) and
/// training in a window of w steps that walks from noise to data during training, Euler's steps elsewhere.
///   window = [position, position + w); after `stay` epochs position += stride, behind `max` back to 0
/// max is K - 2 in the public code, which never trains the last two steps, lets the window shrink as it
/// reaches max, and has an empty one there (window_end public). Here its start stops at max - w. An iteration
/// of the public code, its unit of `stay`, is one rollout: here an epoch.
///
/// Flash: what is left behind the window takes int(max((K - stop) flash_ratio, 1)) evaluations of a
/// second-order multistep solver (DPM-Solver++) in place of K - stop Euler steps.
class MixGrpo : public PlainClip {
 public:
  MixGrpo(Settings& settings, const MethodContext& context) : PlainClip(settings, context) {
    PresetReader preset(settings, presets(context));
    read_window(settings, preset, context);
    if (strategy_ != Strategy::kRandom && strategy_) read_walk(settings, preset);
    flash_ratio_ = settings.number("flash_ratio");
    shared_start_ = preset.choice("shared_start") == "yes";
    advantage_rule_ = read_advantage_rule(settings, preset, context);
  }

  RolloutPlan plan(const PlanContext& context) const override {
    const int latest = window_.last - window_.length;
    int start = this->start(context);
    if (clamps_) start = std::min(start, latest);
    const int stop = std::min(start + window_.length, window_.last);
    auto plan = window_plan(context, {StepRule::Kind::kFlowSde, context.noise_level}, start, stop - start);
    plan.shared_start = shared_start_;
    const int left = context.steps - stop;
    if (flash_ratio_ > 0 && left > 0)
      plan.finish =
          SolverFinish{.from = stop, .points = static_cast<int>(std::max(left * flash_ratio_, 1.0))};
    return plan;
  }

  std::optional<AdvantageRule> advantage_rule() const override { return advantage_rule_; }

  static std::vector<Setting> settings();

 private:
  void read_window(Settings& settings, PresetReader& preset, const MethodContext& context) {
    strategy_ = kStrategies.at(settings.choice("strategy"));
    window_.length = preset.whole("window");
    window_.last = preset.whole("window_to");
    if (window_.last > context.sampling_steps)
      settings.fail(
          "window_to",
          fmt::format("is {}, beyond the {} steps of the schedule", window_.last, context.sampling_steps),
          "lower it, or raise sampling_steps");
    if (window_.length > window_.last)
      settings.fail("window", fmt::format("is {}, more than the {} steps before window_to", window_.length,
                                          window_.last));
  }

  void read_walk(Settings& settings, PresetReader& preset) {
    window_.strategy = *strategy_;
    window_.stay = preset.whole("stay");
    window_.stride = preset.whole("stride");
    window_.roll_back = settings.choice("at_the_end") == "roll-back";
    clamps_ = settings.choice("window_end") == "clamp";
    if (strategy_ == Strategy::kDecay) {
      window_.min_stay = settings.get<int>("min_stay");
      if (window_.min_stay > window_.stay) settings.fail("min_stay", "is above stay");
    }
    if (strategy_ == Strategy::kExpDecay) {
      window_.rate = settings.number("rate");
      window_.rate_from = settings.get<int>("rate_from");
    }
  }

  int start(const PlanContext& context) const {
    if (!strategy_) return 0;
    if (strategy_ == Strategy::kRandom) return drawn_integer(context, 0, 0, window_.last - window_.length);
    return window_.starts(context.epoch).at(static_cast<std::size_t>(context.epoch - 1));
  }

  std::optional<Strategy> strategy_;  // nothing: the window stays at the first step
  SlidingWindow window_;
  bool clamps_ = true, shared_start_ = false;
  double flash_ratio_ = 0;
  std::optional<AdvantageRule> advantage_rule_;
};

std::vector<Setting> MixGrpo::settings() {
  const std::vector<Setting> own = {
      preset_setting(presets({})),
      advantage_rule_setting(),
      {.name = "window", .minimum = 1, .maximum = 1000, .help = "w, steps of the window. Default: by preset"},
      {.name = "window_to",
       .minimum = 1,
       .maximum = 1000,
       .help = "max, the step behind the last that the window reaches. Default: sampling_steps - 2"},
      {.name = "strategy",
       .default_value = "progressive",
       .choices = {"progressive", "random", "decay", "exp-decay", "fixed"},
       .help =
           "how the window moves; progressive: every `stay` epochs by `stride`; decay, exp-decay: so, and "
           "it stays shorter the later it is; random: anywhere, drawn for every epoch; fixed: it stays at "
           "the first step"},
      {.name = "stay",
       .minimum = 1,
       .maximum = 1e6,
       .help = "epochs that the window stays at one place. Default: by preset"},
      {.name = "stride", .minimum = 1, .maximum = 1000, .help = "steps that it moves. Default: by preset"},
      {.name = "at_the_end",
       .default_value = "roll-back",
       .choices = {"roll-back", "hold"},
       .help = "behind the last place: back to the first, or stay there"},
      {.name = "window_end",
       .default_value = "clamp",
       .choices = {"clamp", "public"},
       .help = "clamp: the window starts at window_to - window at the latest; public: it walks on to "
               "window_to, is cut off there, and is empty at last, so that an epoch trains nothing"},
      {.name = "min_stay",
       .default_value = 1,
       .minimum = 1,
       .maximum = 1e6,
       .help = "decay: epochs at the last place; in between int(stay (1 - p) + min_stay p), p = position / "
               "window_to"},
      {.name = "rate",
       .default_value = 0.1,
       .minimum = 0,
       .maximum = 100,
       .help = "exp-decay: it stays ceil(stay exp(-rate max(0, position - rate_from))) epochs"},
      {.name = "rate_from",
       .default_value = 13,
       .minimum = 0,
       .maximum = 1000,
       .help = "exp-decay: the place from which on the stay becomes shorter"},
      {.name = "flash_ratio",
       .default_value = 0.0,
       .minimum = 0,
       .maximum = 1,
       .help = "solver evaluations per step left behind the window; 0: Euler steps. MixGRPO-Flash: 0.4; "
               "Flash*: 0.2 with strategy fixed"},
      {.name = "shared_start",
       .choices = {"no", "yes"},
       .help = "whether the images of a prompt start from one noise. Default: by preset"}};
  return merged(PlainClip::settings(), own);
}

const bool kRegistered = register_method({
    .name = "mix-grpo",
    .summary = "Flow-GRPO in a window of steps that walks from noise to data during training",
    .equations = "r = exp(y) (E12) at the steps of the window, no noise at all others (E2)",
    .settings = MixGrpo::settings(),
    .make = [](Settings& s, const MethodContext& c) { return std::make_unique<MixGrpo>(s, c); },
});

}  // namespace
}  // namespace harness
