#pragma once

#include <filesystem>

#include "core/parity_report.h"
#include "models/nn/weights_io.h"

namespace harness {

/// Compares with FOLDER/outputs.safetensors under FOLDER/case.json's tolerance: the shape is the same,
/// non-finite elements are at the same places, and error <= atol + rtol * max|reference|, where the first
/// entry of `overrides` whose glob fits the name replaces both numbers. Integer tensors without an override
/// must be equal; a missing tensor fails.
ParityReport compare_with_case(const std::filesystem::path& folder, const TensorMap& computed);

}  // namespace harness
