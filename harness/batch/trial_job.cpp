#include "harness/batch/trial_job.h"

#include <fmt/format.h>

#include <string_view>

#include "core/error.h"
#include "core/files.h"
#include "core/text.h"
#include "harness/batch/queue.h"
#include "harness/terminal/ctrl_c.h"
#include "harness/workspace/scratch_folder.h"

namespace harness {
namespace fs = std::filesystem;
namespace {

/// Waits until a trial job has ended.
void wait_for_end(const Batch& batch, const std::string& job, const TrialRequest& request) {
  constexpr int kFirstSeconds = 10;  // most have ended by then
  const CtrlC ctrl_c;
  BatchQueue queue(batch);
  for (int second = 0; !request.limit_s || second < *request.limit_s; ++second) {
    if (ctrl_c.comes_within(1)) {
      batch.cancel(job);
      throw Error("was interrupted", "job " + job, "", Status::kInterrupted);
    }
    second < kFirstSeconds ? queue.read() : queue.poll();
    const auto* state = queue.find(job);
    if (state != nullptr && state->can_never_start) break;
    if (queue.answers() > 0 && (state == nullptr || state->has_ended())) return;
  }
  const auto* state = queue.find(job);
  const auto text = state != nullptr ? state->text() : "job " + job;
  batch.cancel(job);
  throw Error(fmt::format("the job has not ended: {}", text));
}

}  // namespace

TrialAnswer run_trial_job(const Batch& batch, const TrialRequest& request) {
  const ScratchFolder folder(request.place, ".trial-", "choose another folder with --out");
  const auto script = folder.path() / "trial.sh", output = folder.path() / "answer",
             log = folder.path() / "log";
  std::string command;
  for (const auto& word : request.words) command += shell_word(word) + " ";
  const auto trial =
      batch.trial_script(command + ">" + shell_word(output.string()), log, request.on_gpu, request.arguments);
  write_file(script, trial.text);
  const auto submitted = batch.submit(script, trial.options);
  if (!submitted.job) throw Error(submitted.why, "", "", Status::kFailed);
  const auto& job = *submitted.job;
  wait_for_end(batch, job, request);
  if (!fs::exists(log))
    throw Error("the job has ended, and nothing that it wrote in the workspace is here", "", "",
                Status::kFailed);
  const auto text = read_file(log);
  constexpr std::string_view kOn = "on ";
  const auto said = trim(text);
  if (!said.starts_with(kOn))
    throw Error(fmt::format("job {} failed: {}", job, said), "", "", Status::kFailed);
  return {.job = job, .node = std::string(said.substr(kOn.size())), .output = read_file(output)};
}

}  // namespace harness
