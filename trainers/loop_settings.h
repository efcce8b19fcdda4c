#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/json.h"
#include "core/settings/settings.h"
#include "trainers/advantage.h"
#include "trainers/optimisation/ema.h"
#include "trainers/optimisation/optimiser.h"
#include "trainers/sampling/schedule.h"

namespace harness {

/// What happens to a run whose log-ratios break the path-variance law.
enum class AuditMode { kOff, kMark, kStop };

/// Loss weight of a step by its noise (E48): clip(s_k / reference, minimum, maximum).
struct ScoreWeight {
  std::optional<double> reference = {};  ///< s_ref; nothing: the mean of s_k over the trained steps
  double minimum = 0, maximum = 0;
};

/// Settings of the training loop, equal for all methods of a table. An update is one optimiser step; an epoch
/// is one round of sampling. Names, defaults and ranges: loop_settings.cpp.
struct TrainSettings {
  std::int64_t prompts_per_epoch = 0, group_size = 0;
  std::int64_t updates_per_epoch = 0, inner_epochs = 0, updates = 0;
  std::vector<std::int64_t> checkpoints;
  std::int64_t shard_prompts = 0;
  std::int64_t gradient_folds = 0;  ///< groups of an update's shards whose gradients are summed apart
  int sampling_steps = 0, trained_steps = 0, late_steps = 0;
  double noise_level = 0, guidance = 0;
  NoiseGrid grid = {};
  double shift = 0;
  AdamWOptions adamw;
  std::int64_t lr_warmup = 0;  ///< updates
  double max_grad_norm = 0;
  double loss_scale = 1;  ///< the first one, of a network in float16
  double advantage_limit = 0;
  std::optional<AdvantageRule> advantage = {};  ///< nothing: the method's own
  AdvantageStd advantage_std = {};              ///< where the rule is the usual one, kGroup
  bool drop_zero_std_groups = false;            ///< their samples leave the mean of the loss
  double kl = 0;
  EmaOptions ema;
  double on_policy_tolerance = 0;
  std::optional<ScoreWeight> score_weight = {};
  AuditMode law_audit = {};
  Json effective = Json::object();  ///< every setting that was read, by name

  std::int64_t images_per_epoch() const { return prompts_per_epoch * group_size; }
  std::int64_t updates_of_an_epoch() const { return updates_per_epoch * inner_epochs; }
  std::int64_t shards_of_an_update() const { return prompts_per_epoch / (updates_per_epoch * shard_prompts); }
  /// The learning rate of an update, counted from 1: it rises linearly over the first lr_warmup of them.
  double lr_of(std::int64_t update) const {
    return update < lr_warmup ? adamw.lr * static_cast<double>(update) / static_cast<double>(lr_warmup)
                              : adamw.lr;
  }
};

/// Settings of an evaluation: deterministic sampling (Euler steps of the flow).
struct EvaluateSettings {
  int steps = 0;
  double guidance = 0;
  NoiseGrid grid = {};
  double shift = 0;
  std::int64_t shard_size = 0;
  bool use_ema = false;
  bool leaves_out_validation_prompts = false;  ///< already applied to an evaluation's positions
};

/// Throw Error (`where`: the job file) for values that do not fit together.
TrainSettings read_train_settings(const Json& given, const std::string& where);
EvaluateSettings read_evaluate_settings(const Json& given, const std::string& where);

/// Throws Error if that many processes cannot share the gradient folds of an update, with the numbers that
/// can.
void require_shared_folds(const TrainSettings& settings, int ranks, const std::string& where);

/// In the order in which they are listed.
std::vector<Setting> loop_settings();

}  // namespace harness
