#pragma once

#include "harness/plan/plan.h"
#include "harness/score/score_request.h"

namespace harness {

/// The plan of a table whose rows are images that other systems drew: nothing is trained and nothing drawn.
/// Writes nothing. Throws Error (status 2) for images, prompts and metrics that do not go together.
Plan make_score_plan(const ScoreRequest& request, const Workspace& workspace);

}  // namespace harness
