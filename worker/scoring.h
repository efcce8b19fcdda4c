#pragma once

#include "evaluators/scorers.h"
#include "worker/job.h"

namespace harness {

/// The scorers that a job's identity names. Throws Error if one at hand is not the one of the identity
/// (another version, other sources or files).
Scorers open_scorers(const Job& job);

}  // namespace harness
