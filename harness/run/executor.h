#pragma once

#include <string>
#include <vector>

#include "harness/plan/plan.h"

namespace harness {

/// What starts the processes of a job: this program itself, or `srun` inside an allocation of Slurm.
std::vector<std::string> executor_names();

/// What an executor has for jobs to share.
struct Room {
  int cores = 1;  ///< in all
  int nodes = 1;
  int gpus = 0;  ///< of a node

  /// That a job's processes are spread over, as few as hold them.
  int nodes_for(const Shares& shares, bool on_gpus) const;
};

/// Throws Error where the executor cannot work here: `srun` outside an allocation, or without Slurm's
/// commands.
void require_executor(const std::string& executor);

/// Of one that can work here.
Room room_of(const std::string& executor);

/// The words before `harness-worker run FOLDER` that start all ranks of a job; none: we start them ourselves.
std::vector<std::string> launcher_words(const std::string& executor, const Plan& plan, const Shares& shares);

}  // namespace harness
