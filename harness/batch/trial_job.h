#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "harness/batch/batch.h"

namespace harness {

/// A batch job of a moment.
struct TrialRequest {
  std::filesystem::path place;      ///< an existing folder, in which it writes for as long as it takes
  std::vector<std::string> words;   ///< what one process of it runs
  bool on_gpu = false;              ///< it needs one
  std::string arguments = {};       ///< the user's own options
  std::optional<int> limit_s = {};  ///< after which it is cancelled
};

struct TrialAnswer {
  std::string job, node, output;
};

/// Runs it and waits for its end. Throws Error with the reason where a node does not find program, libraries
/// or folder, or the job has not ended within its limit; and with Status::kInterrupted after a Ctrl-C, which
/// cancels it.
TrialAnswer run_trial_job(const Batch& batch, const TrialRequest& request);

}  // namespace harness
