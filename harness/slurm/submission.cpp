#include "harness/slurm/submission.h"

#include <fmt/format.h>

#include <optional>
#include <regex>
#include <system_error>
#include <vector>

#include "core/error.h"
#include "core/event_log.h"
#include "core/files.h"
#include "core/json.h"
#include "core/text.h"
#include "harness/slurm/command.h"
#include "harness/slurm/log_end.h"

namespace harness {
namespace fs = std::filesystem;
namespace {

constexpr const char* kFile = "submission.json";
constexpr int kNoLogOnNode = 53;  // the "signal" of a job whose output file its node cannot open

[[noreturn]] void refuse(const std::string& why, const std::string& where) {
  throw Error(
      fmt::format("Slurm refuses the job: {}", why), where,
      is_submit_limit(why)
          ? "a limit on jobs in the queue is reached (MaxSubmitJobs, GrpSubmitJobs: `sacctmgr show "
            "assoc`, `sacctmgr show qos`): repeat the command once others have ended, or ask those who "
            "run the cluster"
          : "change what it asks for with --slurm (`sinfo` lists partitions and nodes)");
}

/// Whether a job of ours is in the queue, whose end makes room for another one. True where Slurm does not
/// answer.
bool has_room_to_come() {
  SlurmQueue queue;
  try {
    queue.read();
  } catch (const Error&) {
    return true;
  }
  return queue.has_ours();
}

/// Out of what sbatch prints: "17", or "17;cluster".
std::string number_of_job(const std::string& printed, const fs::path& script) {
  const auto id = std::string(trim(split(printed, ';').front()));
  const bool is_number = !id.empty() && id.find_first_not_of("0123456789") == std::string::npos;
  if (is_number) return id;
  throw Error(fmt::format("sbatch says \"{}\" instead of the number of a job", trim(printed)),
              script.string(), "", Status::kFailed);
}

}  // namespace

std::optional<Submission> read_submission(const fs::path& folder) {
  std::error_code absent;
  const auto file = folder / kFile;
  if (!fs::exists(file, absent)) return std::nullopt;
  try {
    const auto noted = read_json(file);
    return Submission{.job = noted.at("job").get<std::string>(),
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
  const Json noted = {{"executor", "slurm"},
                      {"job", submission.job},
                      {"name", submission.name},
                      {"log_begin", submission.log_begin}};
  write_file_atomically(folder / kFile, noted.dump(1) + "\n");
}

std::optional<std::string> submit_script(const fs::path& script, const std::vector<std::string>& options,
                                         std::string& why) {
  std::vector<std::string> words = {"sbatch", "--parsable"};
  words.insert(words.end(), options.begin(), options.end());
  words.push_back(script.string());
  const auto overruling = overruling_variables(read_file(script));
  // Once more where a limit was reached: those that filled it may have ended by now.
  for (int attempt = 0; attempt < 2; ++attempt) {
    const auto sent = run_slurm(words, kOurs, overruling);
    if (sent.status.ok()) return number_of_job(sent.out, script);
    why = said_by_slurm(sent.err);
    if (sent.status.signal != 0) {
      why = "sbatch ended by " + sent.status.text();
      return std::nullopt;
    }
    const bool is_full = is_submit_limit(why);
    if (may_pass(why) || (is_full && has_room_to_come())) return std::nullopt;
    if (!is_full) break;
  }
  refuse(why, script.string());
}

void require_acceptable(const std::vector<std::string>& options) {
  std::string script = "#!/bin/bash\n";
  for (const auto& option : options) script += "#SBATCH " + option + "\n";
  const auto answer = run_slurm({"sbatch", "--test-only"}, memory_file(script + "true\n").get(),
                                overruling_variables(script));
  const auto why = said_by_slurm(answer.err);
  if (!answer.status.ok() && !may_pass(why)) refuse(why, "--slurm");
}

std::optional<Submission> submit_or_adopt(const SlurmRequest& request, const fs::path& worker,
                                          const SlurmQueue& queue, std::string& why) {
  const auto& folder = request.folder;
  Submission submission{
      .job = {}, .name = slurm_job_name(request.id, folder), .log_begin = end_of_log(folder / kEventLog)};
  std::error_code absent;
  fs::remove(folder / kStopMarker, absent);
  if (const auto* known = queue.find_living(submission.name)) {
    submission.job = known->id;
    if (const auto noted = read_submission(folder); noted && noted->job == known->id) return noted;
  } else {
    write_file_atomically(folder / "job.sh", batch_script(request, worker, submission.log_begin));
    const auto id = submit_script(folder / "job.sh", {}, why);
    if (!id) return std::nullopt;
    submission.job = *id;
  }
  write_submission(folder, submission);
  return submission;
}

SlurmEnd end_of_job(const std::string& id, const QueuedJob* job) {
  SlurmEnd end{.status = {.code = 1}, .text = "left Slurm's queue without a trace"};
  const auto told = run_slurm({"scontrol", "show", "job", "--oneliner", id}).out;
  static const std::regex kExitCode(R"(\bExitCode=(\d+):(\d+))");
  std::smatch found;
  if (std::regex_search(told, found, kExitCode))
    end.status = {.code = std::stoi(found[1].str()), .signal = std::stoi(found[2].str())};
  if (job != nullptr) end.text = "ended as " + job->state + (job->nodes.empty() ? "" : " on " + job->nodes);
  if (!end.status.ok()) end.text += " with " + end.status.text();
  if (end.status.code == static_cast<int>(Status::kInterrupted)) {
    end.status = {.code = 1};
    end.text =
        "was stopped at the end of its time, or for another job, before it had come further than where it began: "
        "it needs a longer --time (with --slurm)";
  }
  if (end.status.signal == kNoLogOnNode) {
    end.text = fmt::format(
        "could not write its log{}: put the workspace (--out), the program and LibTorch (HARNESS_DEPS) "
        "on a file system that all nodes see",
        job == nullptr || job->nodes.empty() ? "" : " on " + job->nodes);
  }
  if (job != nullptr && job->state == "TIMEOUT")
    end.text +=
        ": it was told to save, and its time ended before it had; it needs a longer --time, or a longer "
        "warning (--signal=TERM@SECONDS), with --slurm";
  if (end.status.ok()) end.status.code = 1;
  return end;
}

void cancel_submission(const fs::path& folder, const Submission& submission) {
  std::optional<Error> unmarked;  // where the disk is full the job is to end all the same
  try {
    write_file(folder / kStopMarker, submission.job);
  } catch (const Error& error) {
    unmarked = error;
  }
  const auto waiting = run_slurm({"scancel", "--state=PENDING", submission.job}),
             running = run_slurm({"scancel", "--signal=TERM", submission.job});
  const auto why = said_by_slurm(running.err);
  const bool has_ended = why.find("Invalid job id") != std::string::npos ||
                         why.find("already completing or completed") != std::string::npos;
  if (!waiting.status.ok() && !running.status.ok() && !has_ended)
    throw Error(fmt::format("job {} of Slurm was not reached: {}", submission.job, why), folder.string(),
                "repeat the command", Status::kFailed);
  if (unmarked) throw Error(*unmarked);
}

}  // namespace harness
