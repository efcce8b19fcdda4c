#pragma once

#include "trainers/method.h"
#include "trainers/methods/preset.h"

namespace harness {

/// Steps of a rollout that are drawn anew for every epoch, the same for all its images: `count` of from ..
/// to - 1.
struct DrawnSteps {
  enum class Placement {
    kWindow,    ///< consecutive; the first of them uniform in [from, to - count]
    kScattered  ///< any of them
  } placement = Placement::kWindow;
  int count = 0, from = 0, to = 0;

  std::vector<int> at(const PlanContext& context) const;  ///< rising
};

/// `rule` at these steps, which are trained, and no noise at all others (E2).
RolloutPlan plan_of_steps(const PlanContext& context, StepRule rule, const std::vector<int>& steps);

/// Settings `window`, `window_from`, `window_to` and `placement`, by preset.
std::vector<Setting> drawn_steps_settings();

/// Resolves them. limit: how many steps, from the first, may be drawn. window 0: all of these but the
/// schedule's last. Throws Error (Settings::fail) for a window beyond them and where there is no step.
DrawnSteps read_drawn_steps(Settings& settings, PresetReader& preset, const MethodContext& context,
                            int limit);

}  // namespace harness
