#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "core/error.h"
#include "core/processes/process.h"
#include "harness/run/task.h"

namespace harness {

/// The reason a worker itself gave for failing, after so many bytes of its event log
/// (RunningJob::log_begin): those of earlier attempts are not its own. A wrong input of its own is the
/// program's.
std::optional<Error> reported_failure(const Task& task, const ExitStatus& ended, std::uint64_t log_begin);

/// The last lines of a text file; "" if there is none.
std::string tail_of_file(const std::filesystem::path& file, std::size_t lines);

/// The error of a worker that reported none: the batch system's or scheduler's reason, and the end of its
/// log.
Error death_of(const Task& task, const std::string& what, const std::filesystem::path& log);

}  // namespace harness
