#pragma once

#include <filesystem>

#include "core/weights/parity_report.h"

namespace harness {

/// Runs the case of kind `statistics` in `folder` (case.json, inputs.safetensors, outputs.safetensors):
/// paired data `NAME.a`, `NAME.b` (float64 [n]; differences are b - a) and resamples `NAME.resamples` (int64
/// [R, n]). Tolerance: error <= atol + rtol * max(abs(reference)). Throws Error for an absent or misshapen
/// input.
ParityReport check_statistics_case(const std::filesystem::path& folder);

}  // namespace harness
