#include "harness/slurm/trial_job.h"

#include <fmt/format.h>
#include <stdlib.h>

#include <string_view>

#include "core/error.h"
#include "core/files.h"
#include "core/text.h"
#include "harness/slurm/command.h"
#include "harness/slurm/submission.h"
#include "harness/terminal/ctrl_c.h"

namespace harness {
namespace fs = std::filesystem;
namespace {

/// A folder of the workspace's file system that goes in the end.
class TrialFolder {
 public:
  explicit TrialFolder(const fs::path& place) {
    auto name = fs::absolute(place / ".trial-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr)
      throw Error("cannot be written", place.string(), "choose another folder with --out");
    path = name;
  }
  ~TrialFolder() {
    std::error_code left;
    fs::remove_all(path, left);
  }
  TrialFolder(const TrialFolder&) = delete;
  TrialFolder& operator=(const TrialFolder&) = delete;

  fs::path path;
};

/// Waits until a trial job has ended.
void wait_for_end(const std::string& job, const TrialRequest& request) {
  constexpr int kFirstSeconds = 10;  // most have ended by then
  const CtrlC ctrl_c;
  SlurmQueue queue;
  for (int second = 0; !request.limit_s || second < *request.limit_s; ++second) {
    if (ctrl_c.comes_within(1)) {
      run_slurm({"scancel", job});
      throw Error("was interrupted", "job " + job, "", Status::kInterrupted);
    }
    second < kFirstSeconds ? queue.read() : queue.poll();
    const auto* state = queue.find(job);
    if (state != nullptr && state->waits_in_vain()) break;
    const bool is_alive = state != nullptr && (state->is_alive() || state->state == "COMPLETING");
    if (queue.answers() > 0 && !is_alive) return;
  }
  const auto* state = queue.find(job);
  const auto text = state != nullptr ? state->text() : "job " + job;
  run_slurm({"scancel", job});
  throw Error(fmt::format("the job has not ended: {}", text));
}

/// The script that writes the program's output into one file of the folder and the node's name into another.
std::string trial_script(const TrialRequest& request, const fs::path& output) {
  std::string script = "#!/bin/bash\n";
  if (!request.arguments.empty()) script += "#SBATCH " + request.arguments + "\n";
  script += "srun --ntasks=1";
  for (const auto& word : request.words) script += " " + shell_word(word);
  return script + fmt::format(" >{} && echo \"on $SLURMD_NODENAME\"\n", shell_word(output.string()));
}

}  // namespace

TrialAnswer run_trial_job(const TrialRequest& request) {
  const TrialFolder folder(request.place);
  const auto script = folder.path / "trial.sh", output = folder.path / "answer", log = folder.path / "log";
  write_file(script, trial_script(request, output));
  std::vector<std::string> options = {"--job-name=harness-trial", "--ntasks=1", "--time=1",
                                      "--output=" + log.string()};
  options.insert(options.end(), request.options.begin(), request.options.end());
  std::string why;
  const auto job = submit_script(script, options, why);
  if (!job) throw Error(not_now(why), "", "", Status::kFailed);
  wait_for_end(*job, request);
  if (!fs::exists(log))
    throw Error("the job has ended, and nothing that it wrote in the workspace is here", "", "",
                Status::kFailed);
  const auto text = read_file(log);
  constexpr std::string_view kOn = "on ";
  const auto said = trim(text);
  if (!said.starts_with(kOn))
    throw Error(fmt::format("job {} failed: {}", *job, said), "", "", Status::kFailed);
  return {.job = *job, .node = std::string(said.substr(kOn.size())), .output = read_file(output)};
}

}  // namespace harness
