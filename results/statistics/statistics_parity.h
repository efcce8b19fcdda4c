#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "core/parity_report.h"
#include "core/weights/safetensors.h"

namespace harness {

/// Every output of a parity case of kind `statistics` by tensor name: paired data `NAME.a`, `NAME.b` (float64
/// [n]) and given resamples `NAME.resamples` (int64 [R, n]); differences are b - a. Throws Error if an input
/// is absent or has the wrong type or size.
std::map<std::string, std::vector<double>> compute_statistics_case(const SafetensorsFile& inputs,
                                                                   const std::vector<std::string>& datasets,
                                                                   double confidence);

/// Runs the case in `folder` (case.json, inputs.safetensors, outputs.safetensors) and compares under its
/// tolerance: error <= atol + rtol * max(abs(reference)) for each reference tensor.
ParityReport check_statistics_case(const std::filesystem::path& folder);

}  // namespace harness
