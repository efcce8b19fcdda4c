#pragma once

#include <map>
#include <string>
#include <vector>

#include "evaluators/scorers.h"
#include "worker/job.h"

namespace harness {

/// The metrics of a job's scorers, by scorer.
std::map<std::string, std::vector<MetricInfo>> metrics_of_scorers(const WorkerJob& job);

/// Throws Error for a scorer that is not the planned one (version, sources or files).
Scorers open_scorers(const WorkerJob& job);

}  // namespace harness
