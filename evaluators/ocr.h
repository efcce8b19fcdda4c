#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "evaluators/scorer_protocol.h"

namespace harness {

/// Metrics of one image, as they are stored: a value by name, or nothing and a reason by the same name.
struct OcrScore {
  std::optional<std::string> transcript;      ///< white space squeezed; nothing if the scorer failed
  std::optional<std::string> transcript_raw;  ///< as the engine gave it
  std::map<std::string, std::optional<double>> metrics;
  std::map<std::string, std::string> reasons;  ///< one for each metric without a value
};

/// `ocr_reward`, `cer`, `cer_paper`, `exact_match`, `substring_match`, in this order; shares are 0 or 1 here.
const std::vector<std::string>& ocr_metric_names();

/// Scores a scorer's answer against the prompt's target (E60 to E62). Where the scorer failed, or gave no
/// UTF-8 transcript, every metric is empty with the reason; a failed scorer never counts as a reward of 0.
OcrScore ocr_score(std::string_view target, const ScorerAnswer& answer);

}  // namespace harness
