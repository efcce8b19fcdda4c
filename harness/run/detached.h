#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/error.h"
#include "harness/plan/plan.h"
#include "harness/run/plan_runner.h"
#include "harness/run/slurm_executor.h"

namespace harness {

/// What Slurm has of a command's plans.
struct HandedOver {
  struct NewJob {
    std::string id;
    std::filesystem::path folder;
  };

  std::vector<std::string> jobs;  ///< their ids in Slurm
  std::vector<Error>
      failures;  ///< of jobs that a continuation waited for, and that are gone and not complete
  std::optional<NewJob> newest;  ///< of `jobs` the last one that Slurm did not have before
  bool is_full = false;          ///< a limit on jobs in the queue is reached: others are left to ask for
  std::chrono::steady_clock::time_point begin = std::chrono::steady_clock::now();
};

/// Hands all jobs of a plan to Slurm that can start now, or finds those there that it has already; adds them
/// to `handed`. Once a limit is reached, it only finds. A continuation asks for no job a second time. Throws
/// Error where Slurm refuses a job or does not answer for minutes.
void hand_to_slurm(PlanRunner& runner, const std::filesystem::path& worker,
                   const SlurmExecutor::RequestOf& request_of, const SchedulerHooks& hooks,
                   HandedOver& handed);

/// What is left in the queue to go on.
struct Continuation {
  std::string command;           ///< for a shell
  std::set<std::string> wanted;  ///< what it is to bring about (wanted_of)
};

/// Names of what a plan is to bring about: its table, runs and evaluations.
std::set<std::string> wanted_of(const Plan& plan);

/// Throws Error (status 2) where a job goes on in this workspace with another command, which wants more than
/// that: it would lose its place in the queue.
void require_no_other_continuation(const Workspace& workspace, const std::set<std::string>& wanted);

/// Leaves a command in the queue until one of the jobs handed over has ended, in the place of one that waits
/// already; the id. Where a limit is reached it takes the newest job's place. A continuation leaves one that
/// waits and wants all that it wants (somebody has typed the command again) where it is.
std::string submit_continuation(const Workspace& workspace, const Continuation& continuation,
                                const std::string& arguments, HandedOver& handed);

/// For a continuation that finds another command at work: it comes back in five minutes; the id.
std::string put_off_continuation(const Workspace& workspace, const std::string& arguments);

/// What its job asks for, over what --slurm (`arguments`) says for all jobs.
std::vector<std::string> continuation_options(const Workspace& workspace, const std::string& arguments);

/// The name that a job has in Slurm which goes on with all of this plan; "" where the one that was left last
/// goes on with something else.
std::string continuation_of(const Plan& plan);

}  // namespace harness
