#pragma once

#include "harness/plan/plan.h"
#include "harness/score/score_request.h"

namespace harness {

/// The plan of a table whose rows are images from other systems: nothing is trained or generated.
/// Writes nothing. Throws Error (status 2) for images, prompts and metrics that do not go together.
Plan make_score_plan(const ScoreRequest& request, const Workspace& workspace);

}  // namespace harness
