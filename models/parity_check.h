#pragma once

#include <filesystem>
#include <string>

#include "core/json.h"
#include "models/weights_io.h"

namespace harness {

/// How computed tensors compare with recorded ones.
struct ParityResult {
  std::string name, kind;
  bool passed = false;
  double max_abs = 0;   ///< largest absolute error over all tensors
  double max_rel = 0;   ///< largest error over its tensor's largest absolute reference value
  std::string message;  ///< first tensor that fails, and why; empty if all pass

  Json to_json() const;
};

/// Compares with FOLDER/outputs.safetensors under FOLDER/case.json's tolerance: the shape is the same,
/// non-finite elements are at the same places, and error <= atol + rtol * max|reference|, where the first
/// entry of `overrides` whose glob fits the name replaces both numbers. Integer tensors without an override
/// must be equal; a missing tensor fails.
ParityResult compare_with_case(const std::filesystem::path& folder, const TensorMap& computed);

}  // namespace harness
