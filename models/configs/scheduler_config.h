#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "core/json.h"

namespace harness {

/// scheduler_config.json of a FlowMatchEulerDiscreteScheduler, as far as it bears on the grid.
struct SchedulerConfig {
  int num_train_timesteps = 1000;
  double shift = 1;
  bool use_dynamic_shifting = false;  ///< FLUX: the shift follows from the image's size, through mu
  double base_shift = 0.5, max_shift = 1.15;
  int base_image_seq_len = 256, max_image_seq_len = 4096;

  /// mu, linear in the image's tokens through the base and max points.
  double mu(std::int64_t image_tokens) const;
  /// Of noise levels, sigma -> shift sigma / (1 + (shift - 1) sigma): exp(mu) where it is dynamic.
  double shift_for(std::int64_t image_tokens) const;

  /// Throws Error at another class, what is not implemented, a value out of range, ends that make no line.
  static SchedulerConfig from_json(const Json& document, const std::string& where);
};

SchedulerConfig read_scheduler_config(const std::filesystem::path& file);

}  // namespace harness
