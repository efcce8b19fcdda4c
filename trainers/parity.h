#pragma once

#include <filesystem>
#include <string>

#include "models/nn/weights_io.h"

namespace harness {

/// Kinds of recorded reference computations that trainers/ can repeat: adamw_ema, grpo_losses, lora,
/// scheduler, sd3_pipeline, sde_step.
bool is_trainer_case(const std::string& kind);

/// Computes the outputs of a parity case folder (case.json, inputs.safetensors) of one of those kinds. Throws
/// Error at a folder that does not hold what its kind needs.
TensorMap run_trainer_case(const std::filesystem::path& folder);

}  // namespace harness
