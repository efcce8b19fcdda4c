#include "evaluators/ocr.h"

#include "core/error.h"
#include "core/text.h"
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

const std::vector<MetricInfo>& ocr_metrics() {
  static const std::vector<MetricInfo> metrics{
      {.name = "ocr_reward",
       .title = "OCR reward",
       .unit = "fraction",
       .better = "higher",
       .help = "1 - edit distance (capped) over target length, 1 where the target is inside the transcript"},
      {.name = "cer",
       .title = "CER (edit rate)",
       .unit = "fraction",
       .better = "lower",
       .help = "edit distance over target length, uncapped, whatever stands around the target"},
      {.name = "cer_paper",
       .title = "CER",
       .unit = "fraction",
       .better = "lower",
       .help = "1 - ocr_reward, the paper's CER"},
      {.name = "exact_match",
       .title = "Exact",
       .unit = "percent",
       .better = "higher",
       .help = "the transcript is the target, blanks and case aside",
       .decimals = 2},
      {.name = "substring_match",
       .title = "Substring",
       .unit = "percent",
       .better = "higher",
       .help = "the target stands whole inside the transcript",
       .decimals = 2}};
  return metrics;
}

const std::vector<std::string>& ocr_metric_names() {
  static const auto names = [] {
    std::vector<std::string> all;
    for (const auto& metric : ocr_metrics()) all.push_back(metric.name);
    return all;
  }();
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
  const TextMetrics metrics = text_metrics(transcript, target);
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
