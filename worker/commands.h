#pragma once

#include "core/json.h"
#include "trainers/ranks/ranks.h"
#include "worker/job.h"
#include "worker/reporter.h"

namespace harness {

/// Jobs. True when complete; false if asked to stop, with a resume point where the kind has one. What the log
/// holds is kept.
bool run_training(const WorkerJob& job, const Ranks& ranks, Reporter& reporter);

/// Imports checkpoints of another program. Throws Error with the place of one that does not fit the backbone,
/// is not finite, or was changed.
bool run_import(const WorkerJob& job, const Ranks& ranks, Reporter& reporter);
bool run_evaluation(const WorkerJob& job, const Ranks& ranks, Reporter& reporter);

/// Scores images that another system generated.
bool run_scoring(const WorkerJob& job, const Ranks& ranks, Reporter& reporter);

/// `harness sample`, `pretrain`, `parity`. Return the exit status.
int sample_command(const Json& request);
int pretrain_command(const Json& request);
int parity_command(const Json& request);

/// Checks a plan's settings and model folder (Error, status 2), and prints {"ok", "resources", ...}.
int check_command(const Json& request);

/// The same for plans of scorers only.
int check_scorers_command(const Json& request);

/// One intra-op thread for the calling thread: a shard's bits must not depend on their number.
void use_one_thread();

/// registry.json of this build.
Json describe_build();

}  // namespace harness
