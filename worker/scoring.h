#pragma once

#include "evaluators/scorers.h"
#include "worker/job.h"

namespace harness {

/// A job's scorers. Throws Error if one at hand is not the one of the identity (version, sources or files).
Scorers open_scorers(const WorkerJob& job);

}  // namespace harness
