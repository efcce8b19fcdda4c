#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/json.h"
#include "harness/plan/plan.h"
#include "harness/run/analysis_plans.h"
#include "harness/run/batch_executor.h"
#include "harness/run/dealing.h"
#include "harness/run/detached.h"
#include "harness/run/plan_runner.h"
#include "harness/run/stop_request.h"
#include "harness/spec/collection.h"
#include "harness/terminal/progress.h"
#include "results/table/table.h"

namespace harness {

/// How a command that runs plans was asked to go about it.
struct WorkOptions {
  WorkspaceChoice place;
  PlanDesign design = {};
  std::string device = "auto";
  DealingOptions dealing;
  bool detach = false;  ///< submit all ready jobs to a batch system, with a job that continues, and exit
  bool dry_run = false, fresh = false, json = false;
  bool force = false, yes = false;  ///< of --fresh, as of `runs rm`
  bool verbose = false;             ///< the whole table on a terminal too
  /// Asked once the tables are made: whether more is to be run before they are printed, in which case the
  /// plans are made again; and what to say of it.
  std::function<bool(const std::vector<TableModel>& models, Progress& progress)> goes_on = {};
};

/// The plan of a table, or those of the tables that a collection joins.
struct Plans {
  std::optional<Collection> collection;
  std::vector<Plan> all;
};

/// Throws Error for options that do not go together.
void check_work(WorkOptions& options);

/// This command line again, for the message of an interrupted run and for a continuation; without --fresh,
/// which would throw the work away, and what belongs to it.
std::string resume_command();

/// Of the jobs that are done, those count that no finished experiment rests on, as in `harness status`.
void expect_jobs(const Plan& plan, Store& store, const Shares& shares, Progress& progress);

/// What is left to do of a plan, and how it is done.
class PlanWork {
 public:
  /// resources: what check_plan said of the plan. missing: scores of finished evaluations to ask for again.
  PlanWork(const WorkOptions& options, const Plan& plan, const Json& resources, const MissingScores& missing,
           Store& store, Progress& progress);

  /// All of it. Throws Error (Status::kInterrupted) with the command that goes on.
  void run();

  /// Hands over what can start now: nothing where all is done.
  void hand_over(Detached& detached);

 private:
  /// What each job asks a batch system for, by what earlier ones took.
  BatchExecutor::RequestOf requests() const;
  SchedulerHooks hooks();
  void say_notes();
  std::unique_ptr<Executor> make_executor();

  const WorkOptions& options_;
  const Plan& plan_;
  const Json resources_;
  Store& store_;
  Progress& progress_;
  const Shares shares_;
  PlanRunner runner_;
  SchedulerSettings settings_;
  StopRequest stop_request_{plan_.workspace};
};

}  // namespace harness
