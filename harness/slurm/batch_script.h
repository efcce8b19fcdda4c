#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace harness {

/// What a job asks Slurm for.
struct SlurmRequest {
  std::string id;                           ///< of the job
  std::filesystem::path folder;             ///< of the job, absolute
  int ranks = 1, threads = 1;               ///< processes, and threads of each
  bool on_gpus = false;                     ///< one per process
  std::optional<double> memory_mb = {};     ///< of a process, on the host
  std::optional<double> seconds = {};       ///< in all, where earlier jobs were measured
  std::optional<double> unit_seconds = {};  ///< what it takes from one save to the next
  std::string arguments = {};               ///< what --slurm says, for sbatch
};

/// How the names of all of our jobs begin.
inline constexpr std::string_view kJobNames = "harness-";

/// Of the job in this folder, by which one that nobody has noted is found again: another workspace may have a
/// job with this id, too.
std::string slurm_job_name(const std::string& id, const std::filesystem::path& folder);

/// Options of sbatch. What --slurm says stands last, so that it counts.
std::vector<std::string> batch_options(const SlurmRequest& request);

/// FOLDER/job.sh: starts all ranks, and puts the job into the queue once more where the end of its time
/// stopped it and it has come further. `log_begin`: bytes of its event log so far.
std::string batch_script(const SlurmRequest& request, const std::filesystem::path& worker,
                         std::uint64_t log_begin);

/// Throws Error (status 2) for arguments of --slurm that a batch script cannot hold.
void require_slurm_arguments(const std::string& arguments);

/// --cpus-per-task (-c) among them.
std::optional<int> cpus_per_task(const std::string& arguments);
/// GPUs of a node that they ask for, by --gpus-per-node or --gres.
std::optional<int> gpus_per_node(const std::string& arguments);
/// Whether they say anything of GPUs.
bool asks_for_gpus(const std::string& arguments);

/// A path as a file name pattern of Slurm's.
std::string slurm_pattern(const std::filesystem::path& path);

/// A word of sbatch's command line as it stands in a line of #SBATCH.
std::string script_option(const std::string& option);

}  // namespace harness
