#include "harness/slurm/trial_job.h"

#include <fmt/format.h>
#include <stdlib.h>

#include <chrono>
#include <string_view>
#include <thread>

#include "core/error.h"
#include "core/files.h"
#include "core/json.h"
#include "core/text.h"
#include "harness/slurm/command.h"
#include "harness/slurm/submission.h"

namespace harness {
namespace fs = std::filesystem;
namespace {

/// A folder of the workspace's file system that goes in the end.
class TrialFolder {
 public:
  explicit TrialFolder(const fs::path& place) {
    auto name = fs::absolute(place / ".doctor-XXXXXX").string();
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

/// What a trial job printed, once it has ended. Throws Error where it does not within two minutes.
std::string trial_output(const std::string& job, const fs::path& folder) {
  constexpr int kSeconds = 120;
  SlurmQueue queue;
  for (int second = 0; second < kSeconds; ++second) {
    std::this_thread::sleep_for(std::chrono::seconds(1));
    queue.read();
    const auto* state = queue.find(job);
    if (state != nullptr && (state->is_alive() || state->state == "COMPLETING")) continue;
    const auto file = folder / "output";
    if (!fs::exists(file))
      throw Error("the job has ended, and nothing that it wrote in the workspace is here");
    return read_file(file);
  }
  const auto* state = queue.find(job);
  const auto text = state != nullptr ? state->text() : "job " + job;
  run_slurm({"scancel", job});
  throw Error(fmt::format("the job has not ended after {} s: {}", kSeconds, text));
}

}  // namespace

std::string run_trial_job(const fs::path& place, const fs::path& worker, const std::string& arguments) {
  const TrialFolder folder(place);
  const auto options = arguments.empty() ? std::string() : "#SBATCH " + arguments + "\n";
  const auto script = folder.path / "trial.sh";
  write_file(
      script,
      fmt::format("#!/bin/bash\n{}srun --ntasks=1 {} describe >{} && echo \"on $(hostname)\"\n", options,
                  shell_word(worker.string()), shell_word((folder.path / "describe.json").string())));
  std::string why;
  const auto job = submit_script(script,
                                 {"--job-name=harness-doctor", "--ntasks=1", "--time=1",
                                  "--output=" + (folder.path / "output").string()},
                                 why);
  if (!job) throw Error("Slurm does not answer: " + why);
  const auto output = trial_output(*job, folder.path);
  const auto said = trim(output);
  if (!said.starts_with("on ")) throw Error(fmt::format("job {} failed: {}", *job, said));
  read_json(folder.path / "describe.json");  // whole
  return fmt::format("job {} {}: found program, LibTorch and workspace", *job, said);
}

}  // namespace harness
