#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trainers/forward/forward_method.h"

namespace harness {

// Settings that methods on the forward process share. One whose default depends on the preset or the task is
// declared without a default; what was in effect is reported.

/// Whose numbers a method's own settings default to.
enum class Preset {
  kUpstream,     ///< the repository of the method's authors
  kFlowFactory,  ///< X-GenGroup/Flow-Factory
  kUnirl,        ///< Tencent-Hunyuan/UniRL
  kHarness       ///< starting values for the embedded model
};
/// Setting `preset`: kHarness, and those of `others` that the method has numbers of.
Setting preset_setting(const std::vector<Preset>& others);
Preset read_preset(Settings& settings);

/// The value of a setting without a default of its own: what was given, else `otherwise`. Reports it.
double number_or(Settings& settings, const std::string& name, double otherwise);
int whole_or(Settings& settings, const std::string& name, int otherwise);
std::string choice_or(Settings& settings, const std::string& name, const std::string& otherwise);

/// `times`, `time_rule` and what it needs, `time_scope`, `noise_scope`, `noise`, `train_guidance`.
std::vector<Setting> draw_settings();

/// The plan that they describe; `defaults` for what is not given. A high of 0 means all noise levels of the
/// rollout, and low, high and times are lowered to what the rollout has. Throws Error for values that do not
/// fit each other.
ForwardPlan read_draws(Settings& settings, const MethodContext& context, ForwardPlan defaults);

/// Throws Error where a scope is kSample: for a loss that compares images of a prompt at the same draws.
void require_shared_draws(const Settings& settings, const ForwardPlan& plan);

/// `NAME_start`, `NAME_value`, `NAME_slope`, `NAME_end` of a snapshot's decay; `usual`: its defaults, in
/// words.
std::vector<Setting> decay_settings(const std::string& name, const std::string& usual);
SnapshotRule read_decay(Settings& settings, SnapshotRule defaults);

/// `advantage_range`: the advantage at which the methods of optimality and matching stop.
Setting advantage_range_setting();
/// `velocity_kl`: weight of mean (v - v_ref)^2; `usual`: its default, in words.
Setting velocity_kl_setting(const std::string& usual);
/// `reference_weight`: the same of flow matching on own samples, 0 by default.
Setting reference_weight_setting();

}  // namespace harness
