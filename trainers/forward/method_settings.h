#pragma once

#include <string>
#include <vector>

#include "trainers/forward/forward_method.h"

namespace harness {

// Settings shared by methods on the forward process. One whose default depends on preset or task is declared
// without a default; the effective value is reported.

/// Source of a method's default values.
enum class Preset {
  kUpstream,     ///< the repository of the method's authors
  kFlowFactory,  ///< X-GenGroup/Flow-Factory
  kUnirl,        ///< Tencent-Hunyuan/UniRL
  kHarness       ///< starting values for the embedded model
};
/// By setting `preset` (methods/preset.h).
Preset read_preset(Settings& settings);

/// A setting without a default of its own: the given value, else `otherwise`. Reports it.
double number_or(Settings& settings, const std::string& name, double otherwise);
int whole_or(Settings& settings, const std::string& name, int otherwise);
std::string choice_or(Settings& settings, const std::string& name, const std::string& otherwise);

/// `times`, `time_rule` and what it needs, `time_scope`, `noise_scope`, `noise`, `train_guidance`.
std::vector<Setting> draw_settings();

/// Their plan; `defaults` for missing values. A high of 0 means all noise levels of the rollout; low, high
/// and times are lowered to what the rollout has. Throws Error for inconsistent values.
ForwardPlan read_draws(Settings& settings, const MethodContext& context, ForwardPlan defaults);

/// Throws Error if a scope is kSample: for losses that compare images of a prompt at equal draws.
void require_shared_draws(const Settings& settings, const ForwardPlan& plan);

/// `NAME_start`, `NAME_value`, `NAME_slope`, `NAME_end` of a snapshot's decay; `usual`: the defaults, for the
/// help.
std::vector<Setting> decay_settings(const std::string& name, const std::string& usual);
SnapshotRule read_decay(Settings& settings, SnapshotRule defaults);

/// `advantage_range`: the advantage at which the methods of optimality and matching stop.
Setting advantage_range_setting();
/// `velocity_kl`: weight of mean (v - v_ref)^2; `usual`: its default, in words.
Setting velocity_kl_setting(const std::string& usual);
/// `reference_weight`: the same of flow matching on own samples, 0 by default.
Setting reference_weight_setting();

}  // namespace harness
