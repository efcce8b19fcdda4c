#pragma once

#include <map>
#include <string>
#include <vector>

#include "evaluators/scorers.h"
#include "worker/job.h"

namespace harness {

/// The metrics that each scorer of a job gives, by its name.
std::map<std::string, std::vector<MetricInfo>> metrics_of_scorers(const WorkerJob& job);

/// A job's scorers. Throws Error if one at hand is not the one of the identity (version, sources or files).
Scorers open_scorers(const WorkerJob& job);

}  // namespace harness
