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

struct HandedOver {
  std::vector<std::string> jobs;  ///< their ids in Slurm
  std::vector<Error>
      failures;  ///< of jobs that a continuation waited for, and that are gone and not complete
};

/// Hands all jobs of a plan to Slurm that can start now, or finds those there that it has already. A
/// continuation asks for no job a second time. Throws Error where Slurm refuses one or does not answer.
HandedOver hand_to_slurm(PlanRunner& runner, const std::filesystem::path& worker,
                         const SlurmExecutor::RequestOf& request_of, const SchedulerHooks& hooks);

/// Leaves this command in the queue until one of these jobs has ended, in the place of one that waits
/// already; the id.
std::string submit_continuation(const Workspace& workspace, const std::string& command,
                                const std::string& arguments, const std::vector<std::string>& jobs);

/// What its job asks for, over what --slurm (`arguments`) says for all jobs.
std::vector<std::string> continuation_options(const Workspace& workspace, const std::string& arguments);

/// The name of a workspace's continuation in Slurm.
std::string continuation_name(const Workspace& workspace);

}  // namespace harness
