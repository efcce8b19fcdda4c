#pragma once

#include <span>
#include <string>
#include <vector>

#include "trainers/method.h"

namespace harness {

/// A text setting with step numbers, "0,2,4", "none", or "auto": 0, 2, ... up to `share` of the steps.
/// Reports the steps. Throws Error (Settings::fail) for anything else, a number twice, and steps of `last` or
/// behind it.
std::vector<int> read_steps(Settings& settings, const std::string& name, int steps, double share, int last);

/// Noiseless steps (E2) with Flow-SDE (E8), trained, at the forks; who has the children is the caller's.
RolloutPlan forked_plan(const PlanContext& context, const std::vector<int>& forks);

/// Children a fork: the setting, or as many as make an epoch's images with one prompt an update (2 at least).
/// images_of_a_child: images of a prompt over its children.
int read_children(Settings& settings, const MethodContext& context, int images_of_a_child);

/// G2RPO: the sum over strides of (r - mean) / (standard deviation with divisor n - 1 + 1e-8) among a step's
/// children. rewards: children, stride by stride within each.
std::vector<double> granular_advantages(std::span<const std::optional<double>> rewards, int strides);

}  // namespace harness
