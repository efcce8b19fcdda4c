#pragma once

#include "core/json.h"
#include "trainers/ranks/ranks.h"
#include "worker/job.h"
#include "worker/reporter.h"

namespace harness {

/// Runs a training job to its end, or to a resume point when the orchestrator goes. True when complete.
bool run_training(const WorkerJob& job, const Ranks& ranks, Reporter& reporter);

/// Takes in a run's checkpoints of another program, in the form that training writes. True when complete.
/// Throws Error with the place of one that does not fit the backbone, is not finite, or was changed.
bool run_import(const WorkerJob& job, const Ranks& ranks, Reporter& reporter);

/// Draws and scores the images of an evaluation; images already in the log are kept. True when complete.
bool run_evaluation(const WorkerJob& job, const Ranks& ranks, Reporter& reporter);

/// Scores images that another system drew; those already in the log are kept. True when complete.
bool run_scoring(const WorkerJob& job, const Ranks& ranks, Reporter& reporter);

/// `harness sample`, `pretrain`, `parity`: the answer under "json" goes to stdout. Returns the exit status.
int sample_command(const Json& request);
int pretrain_command(const Json& request);
int parity_command(const Json& request);

/// Whether the settings of a plan fit together and its model folder can be read (Error, status 2, where not),
/// and what a worker will take: {"ok", "resources"} on stdout.
int check_command(const Json& request);

/// The same of the scorers alone, for plans that draw nothing.
int check_scorers_command(const Json& request);

/// One intra-op thread for the calling thread: a shard's bits must not depend on how many there are.
void use_one_thread();

/// What this build can do: registry.json.
Json describe_build();

}  // namespace harness
