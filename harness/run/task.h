#pragma once

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

namespace harness {

/// One job as the scheduler sees it: a folder that holds a job.json.
struct Task {
  std::string id, label;
  std::filesystem::path folder;
  std::string progress_key;  ///< what Progress knows it by
};

struct SchedulerSettings {
  std::filesystem::path worker;            ///< the program; called as `worker run FOLDER`
  int jobs = 1;                            ///< at a time
  int ranks = 1;                           ///< processes of a job
  std::vector<std::string> launcher = {};  ///< words that start all of them; none: we start each ourselves
  std::vector<std::string> gpus = {};  ///< that jobs share, one per process; none: each sees all there are
  std::chrono::milliseconds silence_limit{60000};  ///< heartbeat timeout: a silent worker is killed
  std::chrono::milliseconds stop_limit{10000};  ///< how long a worker may take to end after it was asked to

  /// The limits with $HARNESS_SILENCE_MS and $HARNESS_STOP_MS applied (tests shorten them).
  static SchedulerSettings from_environment();
};

}  // namespace harness
