#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "harness/plan/plan.h"
#include "harness/run/plan_runner.h"
#include "harness/run/slurm_executor.h"

namespace harness {

/// Whether we are the job that a detached command has left in the queue to go on.
bool is_continuation();

/// Hands all jobs of a plan to Slurm that can start now; their ids there, with those that it has already. A
/// continuation asks for no job a second time. Throws Error where Slurm refuses one or does not answer, and
/// (Status::kFailed) where one that a continuation waited for is gone and not complete.
std::vector<std::string> hand_to_slurm(PlanRunner& runner, const std::filesystem::path& worker,
                                       const SlurmExecutor::RequestOf& request_of,
                                       const SchedulerHooks& hooks);

/// Leaves this command in the queue until one of these jobs has ended; the id. Nothing to do where it is
/// there already.
std::string submit_continuation(const Workspace& workspace, const std::string& command,
                                const std::string& arguments, const std::vector<std::string>& jobs);

/// The name of a workspace's continuation in Slurm.
std::string continuation_name(const Workspace& workspace);

}  // namespace harness
