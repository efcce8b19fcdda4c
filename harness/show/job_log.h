#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace harness {

/// What an event log shows of its job while a worker may be writing it. Nothing here takes the log's lock.
struct ReadLog {
  enum State {
    kNotBegun,  ///< there is no log
    kRunning,   ///< a living process holds it
    kStopped,   ///< begun, not ended, without an active process
    kFailed,
    kDone
  };
  State state = kNotBegun;
  pid_t process = 0;                        ///< of kRunning; 0: on another machine
  double last_event = 0;                    ///< seconds since 1970; 0: none
  std::string failure = {};                 ///< of kFailed
  std::int64_t done = 0;                    ///< updates, or images; of a finished evaluation some of them
  std::optional<double> reward = {};        ///< mean of the last update
  std::optional<double> seconds_each = {};  ///< an update, or an image since the last start
  std::optional<double> wall_seconds = {};  ///< of kDone: as the worker measured its last start
};

/// Reads the log of a training or an evaluation; of a training and of what is finished its end alone, however
/// long it is. Throws Error for a damaged log.
ReadLog read_job_log(const std::filesystem::path& log, bool is_training);

}  // namespace harness
