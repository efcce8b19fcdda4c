#pragma once

#include <filesystem>
#include <string>

namespace harness {

/// Runs the worker for a moment in a batch job that writes into a folder of `place`, which goes in the end:
/// "job 17 on n1: found program, LibTorch and workspace". Throws Error with the reason where a node does not
/// find them, or the job has not ended after two minutes (it is cancelled then).
std::string run_trial_job(const std::filesystem::path& place, const std::filesystem::path& worker,
                          const std::string& arguments);

}  // namespace harness
