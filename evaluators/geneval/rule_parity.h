#pragma once

#include <filesystem>

#include "core/weights/parity_report.h"

namespace harness {

/// Judges the records of a case of kind `geneval_rule` (FOLDER/case.json alone): `records` with detections by
/// class name and what the reference made of them. Texts and flags are equal, scores within the tolerance.
/// Throws Error where the case is not of that form.
ParityReport check_geneval_rule_case(const std::filesystem::path& folder);

}  // namespace harness
