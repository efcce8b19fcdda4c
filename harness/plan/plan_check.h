#pragma once

#include "core/json.h"
#include "harness/plan/plan.h"

namespace harness {

/// What only the worker can say of a plan, before anything runs: whether the settings fit together, whether
/// the model folder can be read, and what a worker will take. Returns that in bytes: "memory" by part with
/// "total", "stored" of one of each; empty for backbones so small that nobody asks. threads: of a worker.
/// Throws Error (status 2) for settings or a folder that will not do, and for a model that cannot fit.
Json check_plan(const Plan& plan, int threads);

}  // namespace harness
