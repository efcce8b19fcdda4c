#pragma once

#include <vector>

#include "evaluators/metrics/metric_info.h"

// What the metrics of the evaluators without a model are. Apart from the code that computes them: a title or
// a help text is no part of a result.

namespace harness {

/// `ocr_reward`, `cer`, `cer_paper`, `exact_match`, `substring_match`, in the order of ocr_metric_names.
const std::vector<MetricInfo>& ocr_metrics();

/// `jpeg_kb`: what compresses well is rewarded by one task and a sign of simplified pictures to others.
const MetricInfo& jpeg_metric();

/// In the order of image_statistic_names. No direction of theirs is good in itself: which side of one is
/// harmful is a guardrail rule's to say.
const std::vector<MetricInfo>& image_statistic_metrics();

}  // namespace harness
