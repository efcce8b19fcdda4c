#pragma once

#include <string>
#include <vector>

#include "harness/batch/batch.h"

// Slurm as a batch system (slurm.cpp), and steps of an allocation (srun.cpp).

namespace harness::slurm {

const Launcher& srun();

/// The environment variables of sbatch that would overrule what lines of #SBATCH ask for.
std::vector<std::string> overruling_variables(const std::string& script);

/// Whether what sbatch says is that a limit on the number of jobs in the queue is reached (MaxSubmitJobs or
/// GrpSubmitJobs of an account or QOS): a job's end makes room.
bool is_submit_limit(const std::string& message);

}  // namespace harness::slurm
