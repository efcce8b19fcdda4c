#include "trainers/methods/drawn_steps.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace harness {

std::vector<int> DrawnSteps::at(const PlanContext& context) const {
  if (placement == Placement::kScattered) {
    auto steps = drawn_subset(context, count, to - from);
    for (int& step : steps) step += from;
    return steps;
  }
  std::vector<int> steps(static_cast<std::size_t>(count));
  std::iota(steps.begin(), steps.end(), drawn_integer(context, 0, from, to - count));
  return steps;
}

RolloutPlan plan_of_steps(const PlanContext& context, StepRule rule, const std::vector<int>& steps) {
  auto plan = window_plan(context, rule, 0, 0);
  for (const int step : steps) plan.steps.at(static_cast<std::size_t>(step)) = {rule, true};
  return plan;
}

std::vector<Setting> drawn_steps_settings() {
  return {
      {.name = "window",
       .minimum = 0,
       .maximum = 1000,
       .help = "steps of an epoch that are stochastic and trained; 0: all but the last. Default: by preset"},
      {.name = "window_from",
       .minimum = 0,
       .maximum = 1000,
       .help = "first step that they may be. Default: by preset"},
      {.name = "window_to",
       .minimum = 1,
       .maximum = 1000,
       .help = "the step behind the last that they may be. Default: by preset"},
      {.name = "placement",
       .choices = {"window", "scattered"},
       .help = "window: consecutive steps; scattered: any. Default: by preset"}};
}

DrawnSteps read_drawn_steps(Settings& settings, PresetReader& preset, const MethodContext& context,
                            int limit) {
  const int all = context.sampling_steps - 1;
  DrawnSteps steps{.count = preset.whole("window")};
  if (steps.count == 0) {
    if (all < 1)
      settings.fail("window", "is 0, all steps but the last, and there is one step alone",
                    "raise sampling_steps");
    return {.count = all, .from = 0, .to = all};
  }
  steps.from = preset.whole("window_from");
  steps.to = preset.whole("window_to");
  if (preset.choice("placement") == "scattered") steps.placement = DrawnSteps::Placement::kScattered;
  if (steps.to > limit)
    settings.fail("window_to", fmt::format("is {}, and {} steps can be trained", steps.to, limit),
                  "lower it, or raise sampling_steps");
  if (steps.count > steps.to - steps.from)
    settings.fail("window",
                  fmt::format("is {}, more than the steps from window_from {} to before window_to {}",
                              steps.count, steps.from, steps.to));
  return steps;
}

}  // namespace harness
