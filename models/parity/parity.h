#pragma once

#include <filesystem>
#include <optional>

#include "models/nn/weights_io.h"

namespace harness {

/// Kinds of recorded reference computations that models/ can repeat.
bool is_model_case(const std::string& kind);

/// Computes the outputs of a parity case folder (case.json, inputs.safetensors, model/) of one of those
/// kinds, in float32, with gradients where the case asks for them. Throws Error at a folder that does not
/// hold what its kind needs.
TensorMap run_model_case(const std::filesystem::path& folder);

}  // namespace harness
