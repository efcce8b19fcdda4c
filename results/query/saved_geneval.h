#pragma once

#include "results/query/saved_query.h"

namespace harness {

/// Over the detections and judgements of images (evaluators/sample_score.h), by name.
extern const SavedQuery kFoundObjects, kGenevalByReason, kGenevalByTag, kGenevalJudgements;

}  // namespace harness
