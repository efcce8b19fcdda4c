#pragma once

#include <string>
#include <vector>

#include "core/processes/process.h"

namespace harness {

/// Runs one of Slurm's commands to its end, without what an allocation that we are in has told us about
/// itself (it is not about the jobs that we ask for). Throws Error (status 2) where Slurm's commands are not
/// on PATH. `in`: its standard input, as of ProcessOptions.
Finished run_slurm(std::vector<std::string> words, int in = kOurs);

/// The words that run_slurm runs, for a process of one's own.
std::vector<std::string> slurm_words(std::vector<std::string> words);

/// What one of them wrote on standard error, in one line and without the commands' names.
std::string said_by_slurm(const std::string& text);

/// Whether what a command of Slurm says on standard error is of those that pass: the controller does not
/// answer, or is busy. Whether it did what was asked is then not known.
bool may_pass(const std::string& message);

/// Throws Error (status 2) where there are none of Slurm's commands, or no controller answers.
void require_slurm(const std::string& option);

}  // namespace harness
