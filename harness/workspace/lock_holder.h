#pragma once

#include <sys/types.h>

#include <filesystem>
#include <optional>

namespace harness {

/// The process that holds a lock (flock) on a file, 0 for one on another machine; nothing if none does.
/// Only looks: event_log_is_held takes the lock for a moment, in which who wants it would be refused.
std::optional<pid_t> lock_holder(const std::filesystem::path& path);

}  // namespace harness
