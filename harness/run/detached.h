#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/error.h"
#include "harness/batch/queue.h"
#include "harness/plan/plan.h"
#include "harness/run/batch_executor.h"
#include "harness/run/dealing.h"
#include "harness/run/plan_runner.h"

namespace harness {

/// What is left in a queue to go on.
struct Continuation {
  std::string command;           ///< for a shell
  std::set<std::string> wanted;  ///< what it is to bring about (wanted_of)
};

/// A command that does not stay: it hands its jobs to a batch system, and itself as one more, which starts
/// once one of them has ended.
class Detached {
 public:
  /// With a batch system.
  Detached(const DealingOptions& dealing, const Workspace& workspace);

  /// Throws Error (status 2) where a job continues another command in this workspace, which wants more
  /// than that: it would lose its place in the queue.
  void require_no_other(const std::set<std::string>& wanted);

  /// Hands all jobs of a plan over that can start now, or finds those in the queue that are there already.
  /// Once a limit is reached, it only finds. A continuation asks for no job a second time. Throws Error where
  /// the system refuses a job or does not answer for minutes.
  void hand_over(PlanRunner& runner, const std::filesystem::path& worker,
                 const BatchExecutor::RequestOf& request_of, const SchedulerHooks& hooks);

  /// Leaves a command in the queue until one of the jobs has ended, in the place of one that waits already;
  /// the id. Where a limit is reached it takes the newest job's place. A continuation leaves one that waits
  /// and wants all that it wants (somebody has typed the command again) where it is.
  std::string leave(const Continuation& continuation);
  /// The same with the command that was left last. Without jobs it comes back in five minutes.
  std::string leave_again();

  /// What its job asks for, over the user's own options.
  std::vector<std::string> options() const;

  const std::vector<std::string>& jobs() const { return jobs_; }
  /// Of jobs that a continuation waited for, and that are gone and not complete.
  const std::vector<Error>& failures() const { return failures_; }
  /// A limit on jobs in the queue is reached: others are left to ask for.
  bool is_full() const { return is_full_; }

 private:
  struct NewJob {
    std::string id;
    std::filesystem::path folder;
  };

  void hand_over(const Task& task, const JobRequest& request, const std::filesystem::path& worker);
  std::optional<Task> next_task(PlanRunner& runner);
  /// Gives the place of the newest job to this command, which asks for it again. False where there is none,
  /// or nothing else to wait for.
  bool make_room();

  const Batch& batch_;
  const Workspace& workspace_;
  const std::string arguments_, name_;
  BatchQueue queue_;
  std::vector<std::string> jobs_;  ///< their ids
  std::vector<Error> failures_;
  std::optional<NewJob> newest_;  ///< of `jobs_` the last one that was not in the queue before
  bool is_full_ = false;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

/// Names of what a plan is to bring about: its table, runs and evaluations.
std::set<std::string> wanted_of(const Plan& plan);

/// The name that a job has in the queue which goes on with all of this plan; "" where the one that was left
/// last goes on with something else.
std::string continuation_of(const Plan& plan);

}  // namespace harness
