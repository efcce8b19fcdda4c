#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "harness/slurm/batch_script.h"
#include "harness/slurm/queue.h"

namespace harness {

/// A job of Slurm's that was asked for, as FOLDER/submission.json notes it.
struct Submission {
  std::string job;              ///< Slurm's id
  std::string name;             ///< slurm_job_name
  std::uint64_t log_begin = 0;  ///< bytes of the event log when it was asked for (end_of_log)
};

/// What a folder's submission.json says; nothing where there is none that can be read.
std::optional<Submission> read_submission(const std::filesystem::path& folder);
void write_submission(const std::filesystem::path& folder, const Submission& submission);
/// As if the folder's job had never been asked for.
void forget_submission(const std::filesystem::path& folder);

/// Runs sbatch on a script with further options; the id. Nothing where Slurm does not answer for the moment,
/// or has as many jobs as a limit allows and some of them are ours (`why` then says so: not_now): whether the
/// job is in the queue must be looked up by its name. Throws Error (status 2) where Slurm refuses the job.
std::optional<std::string> submit_script(const std::filesystem::path& script,
                                         const std::vector<std::string>& options, std::string& why);

/// Throws Error (status 2) where Slurm says now that it would refuse a job with these lines of #SBATCH. What
/// it does not answer is no refusal.
void require_acceptable(const std::vector<std::string>& options);

/// The job that the queue holds under this name (an earlier command may have asked for it, and have had no
/// time to note it), or a new one by FOLDER/job.sh; noted in submission.json. Nothing as above.
std::optional<Submission> submit_or_adopt(const SlurmRequest& request, const std::filesystem::path& worker,
                                          const SlurmQueue& queue, std::string& why);

/// How a job that is no longer alive ended: "ended as FAILED on n1 with signal 9 (Killed)". `job`: what the
/// queue still says of it; nullptr for nothing. The status is never that of a success.
struct SlurmEnd {
  ExitStatus status;
  std::string text;
};
SlurmEnd end_of_job(const std::string& id, const QueuedJob* job);

/// Takes a job out of the queue if it waits, and tells it to save and end if it runs.
void cancel_submission(const std::filesystem::path& folder, const Submission& submission);

}  // namespace harness
