#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "core/processes/process.h"

namespace harness {

/// Set in the job that a detached command has left in the queue to go on.
inline constexpr const char* kContinues = "HARNESS_CONTINUATION";
bool is_continuation();

/// Runs one of Slurm's commands to its end, without what an allocation that we are in has told us about
/// itself (it is not about the jobs that we ask for) and the environment variables `without`. What a terminal
/// signals to us does not reach it. Throws Error (status 2) where Slurm's commands are not on PATH. `in`: its
/// standard input, as of ProcessOptions.
Finished run_slurm(std::vector<std::string> words, int in = kOurs,
                   const std::vector<std::string>& without = {});

/// The environment variables of sbatch that would overrule what lines of #SBATCH ask for.
std::vector<std::string> overruling_variables(const std::string& script);

/// The words that run_slurm runs, for a process of one's own.
std::vector<std::string> slurm_words(std::vector<std::string> words);

/// What one of them wrote on standard error, in one line and without the commands' names.
std::string said_by_slurm(const std::string& text);

/// Whether what a command of Slurm says on standard error is of those that pass: the controller does not
/// answer, or is busy. Whether it did what was asked is then not known.
bool may_pass(const std::string& message);

/// Whether what sbatch says is that a limit on the number of jobs in the queue is reached (MaxSubmitJobs or
/// GrpSubmitJobs of an account or QOS): a job's end makes room.
bool is_submit_limit(const std::string& message);

/// What an sbatch that did not go through for now has said (`why`), in a sentence.
std::string not_now(const std::string& why);

/// How long Slurm may not answer: its controller starts anew, say.
inline constexpr std::chrono::minutes kSlurmPatience{5};

/// Throws Error (status 2) where there are none of Slurm's commands, or (status 1) where no controller has
/// answered for so long.
void require_slurm(const std::string& option, std::chrono::seconds patience = {});

}  // namespace harness
