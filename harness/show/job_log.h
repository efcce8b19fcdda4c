#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace harness {

/// What an event log tells of its job while a worker may be writing it. Nothing here takes the log's lock.
struct ReadLog {
  enum State {
    kNotBegun,  ///< there is no log
    kRunning,   ///< a living process holds it
    kStopped,   ///< begun, not ended, held by nobody
    kFailed,
    kDone
  };
  State state = kNotBegun;
  pid_t process = 0;                        ///< of kRunning; 0: on another machine
  double last_event = 0;                    ///< seconds since 1970; 0: none
  std::string failure = {};                 ///< of kFailed
  std::optional<double> wall_seconds = {};  ///< of kDone: as the worker measured its last start
};

struct TrainingLog : ReadLog {
  std::optional<std::int64_t> update = {};  ///< the last one
  std::optional<double> reward = {};        ///< its mean
  std::optional<double> seconds_per_update = {};
};

struct EvaluationLog : ReadLog {
  std::int64_t images = 0;  ///< drawn and scored; not counted in one that is done
  std::optional<double> seconds_per_image = {};
};

/// Reads the log's end alone, however long it is. `epoch`: updates of an epoch, which are measured together,
/// since its images are drawn before the first of them. Throws Error for a damaged log.
TrainingLog read_training_log(const std::filesystem::path& log, std::int64_t epoch);

/// Throws as above.
EvaluationLog read_evaluation_log(const std::filesystem::path& log);

}  // namespace harness
