#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace harness {

/// A batch job of a moment.
struct TrialRequest {
  std::filesystem::path place;            ///< an existing folder, in which it writes for as long as it takes
  std::vector<std::string> words;         ///< what one process of it runs
  std::vector<std::string> options = {};  ///< of sbatch
  std::string arguments = {};             ///< what --slurm says; counts above them
  std::optional<int> limit_s = {};        ///< after which it is cancelled
};

struct TrialAnswer {
  std::string job, node, output;
};

/// Runs it and waits for its end. Throws Error with the reason where a node does not find program, libraries
/// or folder, or the job has not ended within its limit; and with Status::kInterrupted after a Ctrl-C, which
/// cancels it.
TrialAnswer run_trial_job(const TrialRequest& request);

}  // namespace harness
