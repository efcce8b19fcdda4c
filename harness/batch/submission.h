#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "harness/batch/batch.h"
#include "harness/batch/queue.h"

namespace harness {

/// A batch job that was asked for, as FOLDER/submission.json notes it.
struct Submission {
  const Batch* batch = nullptr;
  std::string job;              ///< the system's id
  std::string name;             ///< batch_job_name
  std::uint64_t log_begin = 0;  ///< bytes of the event log when it was asked for (end_of_log)
};

/// The content of a folder's submission.json; nothing if it is missing or unreadable.
std::optional<Submission> read_submission(const std::filesystem::path& folder);
void write_submission(const std::filesystem::path& folder, const Submission& submission);
/// As if the folder's job had never been asked for.
void forget_submission(const std::filesystem::path& folder);

/// The job that the queue holds under this name (an earlier command may have asked for it, and have had no
/// time to note it), or a new one by FOLDER/job.sh; noted in submission.json. Nothing where it was not taken
/// for now, for the reason in `answer`.
std::optional<Submission> submit_or_adopt(const Batch& batch, const JobRequest& request,
                                          const std::filesystem::path& worker, const BatchQueue& queue,
                                          Submitted& answer);

/// Takes a job out of the queue if it waits, and asks it to save and exit if it runs.
void cancel_submission(const std::filesystem::path& folder, const Batch& batch, const std::string& job);

}  // namespace harness
