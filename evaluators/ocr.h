#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "evaluators/sample_score.h"
#include "evaluators/scorer_protocol.h"

namespace harness {

/// `ocr_reward`, `cer`, `cer_paper`, `exact_match`, `substring_match`, in this order; shares are 0 or 1 here.
const std::vector<std::string>& ocr_metric_names();

/// Why the text metrics of a prompt without a target are empty: there was nothing to read, and no failure.
inline constexpr const char* kNoTargetReason = "the prompt quotes no text";

/// Scores a scorer's answer, its transcript in normal form C, against the prompt's target (E60 to E62). Where
/// the scorer failed, gave no UTF-8 transcript, or the target is empty, every metric is empty with the
/// reason; a failed scorer never counts as a reward of 0.
SampleScore ocr_score(std::string_view target, const ScorerAnswer& answer);

}  // namespace harness
