#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/json.h"
#include "trainers/advantage.h"
#include "trainers/ema.h"
#include "trainers/optimiser.h"
#include "trainers/schedule.h"

namespace harness {

/// What happens to a run whose log-ratios break the path-variance law.
enum class AuditMode { kOff, kMark, kStop };

/// Loss weight of a step by its noise (E48): clip(s_k / reference, minimum, maximum).
struct ScoreWeight {
  std::optional<double> reference = {};  ///< s_ref; nothing: the mean of s_k over the trained steps
  double minimum = 0, maximum = 0;
};

/// Settings of the training loop, the same for every method of a table. One update is one optimiser step; an
/// epoch is one round of sampling.
struct TrainSettings {
  std::int64_t prompts_per_epoch = 8, group_size = 8;
  std::int64_t updates_per_epoch = 2, inner_epochs = 1, updates = 80;
  std::vector<std::int64_t> checkpoints;
  std::int64_t shard_prompts = 2;
  int sampling_steps = 10, trained_steps = 10, late_steps = 5;
  double noise_level = 0.7, guidance = 1;
  Grid grid = Grid::kUniform;
  double shift = 1;
  AdamWOptions adamw;
  std::int64_t lr_warmup = 0;  ///< updates
  double max_grad_norm = 1;
  double advantage_limit = 5;
  AdvantageStd advantage_std = AdvantageStd::kGroup;
  bool drop_zero_std_groups = false;  ///< their samples leave the mean of the loss
  double kl = 0;
  EmaOptions ema;
  double on_policy_tolerance = 0;
  std::optional<ScoreWeight> score_weight = {};
  AuditMode law_audit = AuditMode::kMark;
  Json effective = Json::object();  ///< every setting that was read, by name

  std::int64_t images_per_epoch() const { return prompts_per_epoch * group_size; }
  std::int64_t updates_of_an_epoch() const { return updates_per_epoch * inner_epochs; }
  bool is_late(int step) const { return step < trained_steps && step >= trained_steps - late_steps; }
  /// The learning rate of an update, counted from 1: it rises linearly over the first lr_warmup of them.
  double lr_of(std::int64_t update) const {
    return update < lr_warmup ? adamw.lr * static_cast<double>(update) / static_cast<double>(lr_warmup)
                              : adamw.lr;
  }
};

/// Settings of an evaluation: deterministic sampling (Euler steps of the flow).
struct EvaluateSettings {
  int steps = 10;
  double guidance = 1;
  Grid grid = Grid::kUniform;
  double shift = 1;
  std::int64_t shard_size = 16;
  bool use_ema = true;
};

/// Throw Error (`where`: the job file) for values that do not fit together.
TrainSettings read_train_settings(const Json& given, const std::string& where);
EvaluateSettings read_evaluate_settings(const Json& given, const std::string& where);

/// [{"name", "default", "minimum", "maximum", "choices", "help", "equation", "used_by": "train" | "evaluate"
/// | "both"}]
Json describe_loop_settings();

}  // namespace harness
