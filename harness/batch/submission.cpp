#include "harness/batch/submission.h"

#include <fmt/format.h>

#include <system_error>

#include "core/error.h"
#include "core/event_log.h"
#include "core/files.h"
#include "core/json.h"

namespace harness {
namespace fs = std::filesystem;
namespace {

constexpr const char* kFile = "submission.json";

}  // namespace

std::optional<Submission> read_submission(const fs::path& folder) {
  std::error_code absent;
  const auto file = folder / kFile;
  if (!fs::exists(file, absent)) return std::nullopt;
  try {
    const auto noted = read_json(file);
    const auto* batch = find_batch(noted.at("executor").get<std::string>());
    if (batch == nullptr) return std::nullopt;
    return Submission{.batch = batch,
                      .job = noted.at("job").get<std::string>(),
                      .name = noted.at("name").get<std::string>(),
                      .log_begin = noted.at("log_begin").get<std::uint64_t>()};
  } catch (const std::exception&) {  // the queue knows it by name
    return std::nullopt;
  }
}

void forget_submission(const fs::path& folder) {
  std::error_code absent;
  fs::remove(folder / kFile, absent);
}

void write_submission(const fs::path& folder, const Submission& submission) {
  const Json noted = {{"executor", submission.batch->names.executor},
                      {"job", submission.job},
                      {"name", submission.name},
                      {"log_begin", submission.log_begin}};
  write_file_atomically(folder / kFile, noted.dump(1) + "\n");
}

std::optional<Submission> submit_or_adopt(const Batch& batch, const JobRequest& request,
                                          const fs::path& worker, const BatchQueue& queue,
                                          Submitted& answer) {
  const auto& folder = request.folder;
  Submission submission{.batch = &batch,
                        .job = {},
                        .name = batch_job_name(request.id, folder),
                        .log_begin = end_of_log(folder / kEventLog)};
  std::error_code absent;
  fs::remove(folder / kStopMarker, absent);
  if (const auto* known = queue.find_living(submission.name)) {
    submission.job = known->id;
    if (const auto noted = read_submission(folder); noted && noted->job == known->id) return noted;
  } else {
    write_file_atomically(folder / "job.sh", batch.script(request, worker, submission.log_begin));
    answer = batch.submit(folder / "job.sh", {});
    if (!answer.job) return std::nullopt;
    submission.job = *answer.job;
  }
  write_submission(folder, submission);
  return submission;
}

void cancel_submission(const fs::path& folder, const Batch& batch, const std::string& job) {
  std::optional<Error> unmarked;  // where the disk is full the job is to end all the same
  try {
    write_file(folder / kStopMarker, job);
  } catch (const Error& error) {
    unmarked = error;
  }
  if (const auto why = batch.ask_to_stop(job); !why.empty())
    throw Error(fmt::format("{} was not reached: {}", batch.job_text(job), why), folder.string(),
                "repeat the command", Status::kFailed);
  if (unmarked) throw Error(*unmarked);
}

}  // namespace harness
