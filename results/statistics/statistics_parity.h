#pragma once

#include <filesystem>

#include "core/parity_report.h"

namespace harness {

/// Runs the case of kind `statistics` in `folder` (case.json, inputs.safetensors, outputs.safetensors) and
/// compares under its tolerance: error <= atol + rtol * max(abs(reference)) for each reference tensor. Paired
/// data `NAME.a`, `NAME.b` (float64 [n]) and given resamples `NAME.resamples` (int64 [R, n]); differences are
/// b - a. Throws Error if an input is absent or has the wrong type or size.
ParityReport check_statistics_case(const std::filesystem::path& folder);

}  // namespace harness
