#pragma once

#include <filesystem>

namespace harness {

/// True if two event logs of one job are whole and tell the same: every update, checkpoint, image and score,
/// whenever and wherever the job was done, and however often it was interrupted. An id stands for numbers, so
/// that a job which two people did has two logs and one result. Throws Error for a damaged log.
bool have_same_results(const std::filesystem::path& a, const std::filesystem::path& b);

}  // namespace harness
