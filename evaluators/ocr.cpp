#include "evaluators/ocr.h"

#include "core/error.h"
#include "core/text.h"
#include "core/unicode/normal_form.h"
#include "evaluators/text_metrics.h"

namespace harness {
namespace {

SampleScore not_scored(const std::string& reason) {
  SampleScore score;
  for (const std::string& name : ocr_metric_names()) {
    score.metrics[name] = std::nullopt;
    score.reasons[name] = reason;
  }
  return score;
}

}  // namespace

const std::vector<std::string>& ocr_metric_names() {
  static const std::vector<std::string> names{"ocr_reward", "cer", "cer_paper", "exact_match",
                                              "substring_match"};
  return names;
}

SampleScore ocr_score(std::string_view target, const ScorerAnswer& answer) {
  if (answer.error) return not_scored(*answer.error);
  if (!answer.transcript_raw) return not_scored("the scorer's answer holds no transcript");
  if (invalid_utf8_at(*answer.transcript_raw)) return not_scored("the scorer's transcript is not UTF-8");
  const std::string transcript = squeeze_white_space(*answer.transcript_raw);
  if (target.empty()) {
    auto score = not_scored(kNoTargetReason);
    score.transcript = transcript;
    score.transcript_raw = answer.transcript_raw;
    return score;
  }
  const TextMetrics metrics = text_metrics(to_nfc(transcript), target);
  return {.transcript = transcript,
          .transcript_raw = answer.transcript_raw,
          .metrics = {{"ocr_reward", metrics.reward},
                      {"cer", metrics.cer},
                      {"cer_paper", metrics.cer_paper},
                      {"exact_match", metrics.exact_match ? 1.0 : 0.0},
                      {"substring_match", metrics.substring_match ? 1.0 : 0.0}},
          .reasons = {}};
}

}  // namespace harness
