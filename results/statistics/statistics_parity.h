#pragma once

#include <filesystem>

#include "core/weights/parity_report.h"

namespace harness {

/// Runs the case of kind `statistics` in `folder`: paired data `NAME.a`, `NAME.b` (float64 [n]) and given
/// resamples `NAME.resamples` (int64 [R, n]) of inputs.safetensors; differences are b - a. Throws Error if an
/// input is absent or has the wrong type or size.
ParityReport check_statistics_case(const std::filesystem::path& folder);

}  // namespace harness
