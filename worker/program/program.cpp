#include "worker/program/program.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>

#include "core/error.h"
#include "core/event_log.h"
#include "core/host.h"
#include "core/json.h"
#include "core/processes/rank_place.h"
#include "core/streams.h"
#include "evaluators/external_scorer.h"
#include "models/nn/device.h"
#include "models/nn/gpu_ops.h"
#include "worker/commands.h"
#include "worker/out_of_memory.h"
#include "worker/text_check.h"

namespace harness {
namespace {

/// On a full disk the log cannot be written; the reason still goes to standard error.
void report_failure(Reporter& reporter, const Error& error) {
  try {
    reporter.failed(error.problem(), error.where(), error.hint());
  } catch (const Error&) {
  }
}

/// Another build, CPU kind or GPU would compute other bits for the same shard.
void require_equal_machines(const WorkerJob& job, const Ranks& ranks) {
  const auto all = ranks.gather(worker_build() + " " + device_identity(job.device));
  const auto other = std::ranges::find_if(all, [&](const auto& text) { return text != all.front(); });
  if (other == all.end()) return;
  throw Error(fmt::format("rank {} runs another build, or on another kind of CPU or GPU, than rank 0",
                          other - all.begin()),
              fmt::format("rank {} of {}", ranks.rank(), ranks.size()),
              "start all processes of a run from one installation, on machines of one kind", Status::kFailed);
}

/// Another kind of GPU or other libraries would compute other bits than the job's id identifies.
void require_planned_device(const WorkerJob& job) {
  const auto planned = job.get<std::string>("device"), here = planned_device(job.device);
  if (planned == here) return;
  throw Error(fmt::format("was planned for {}, and runs on {}", planned, here), job.file(),
              "choose machines of one kind (of Slurm's nodes: --slurm '--constraint=...'), or repeat the "
              "command where this kind is, which then gets runs of its own");
}

/// What a job's log records from byte `begin` on.
struct LastAttempt {
  bool is_complete = false;
  bool has_advanced = false;  ///< since the last start
};

LastAttempt last_attempt(const std::filesystem::path& folder, std::uint64_t begin) {
  LastAttempt found;
  for (const auto& event : Events(folder / kEventLog, begin)) {
    const auto type = event.value("type", "");
    found.is_complete = found.is_complete || type == "job_completed";
    if (type == "job_started") found.has_advanced = false;
    if (type == "update" || type == "sample") found.has_advanced = true;
  }
  return found;
}

/// A job resumes only on the kind of machine that started it: another would compute other bits.
void require_same_machine(const WorkerJob& job) {
  const auto start = last_start(job.folder / kEventLog);
  // A finished evaluation only gets scores again: images are not made, or checked for the same bits.
  if (!start || (job.get<std::string>("kind") != "train" && last_attempt(job.folder, 0).is_complete)) return;
  const auto began = start->value(job.device_field(), ""), here = device_identity(job.device);
  if (began.empty() || began == here) return;
  throw Error(
      fmt::format("was started on a machine with {}, and this one has {}", began, here), job.folder.string(),
      "continue on that kind of machine (of Slurm's nodes: --slurm '--constraint=...'), or start over with "
      "--fresh");
}

bool run_shared(const WorkerJob& job, const Ranks& ranks, Reporter& reporter) {
  try {
    if (ranks.is_root()) remove_left_images(job.folder);  // the others wait for it in the next line
    require_equal_machines(job, ranks);
    const auto kind = job.get<std::string>("kind");
    if (kind == "train") return run_training(job, ranks, reporter);
    if (kind == "import") return run_import(job, ranks, reporter);
    if (kind == "score") return run_scoring(job, ranks, reporter);
    if (kind == "evaluate") return run_evaluation(job, ranks, reporter);
    throw Error(fmt::format("unknown kind of job \"{}\"", kind), job.file());
  } catch (const std::exception& error) {
    ranks.report_failure(error.what());
    throw;
  }
}

/// A batch system may start a job that another attempt has completed since it was submitted, when its log had
/// HARNESS_LOG_BEGIN bytes.
bool is_complete_already(const std::filesystem::path& folder) {
  const auto begin = environment_number("HARNESS_LOG_BEGIN", 0, "bytes");
  return begin && last_attempt(folder, static_cast<std::uint64_t>(*begin)).is_complete;
}

int run_job(const std::filesystem::path& folder) {
  auto job = read_job(folder);
  const auto place = rank_place();
  job.rank = place.rank;
  if (job.device == "cuda")
    job.device = fmt::format("cuda:{}", place.local_rank);  // of those that are visible
  if (is_complete_already(folder)) return 0;
  require_planned_device(job);
  require_same_machine(job);
  Reporter reporter(job, place.is_root());
  try {
    use_one_thread();
    const Ranks ranks(place, job.id, Ranks::timeout());
    return run_shared(job, ranks, reporter) ? 0 : static_cast<int>(Status::kInterrupted);
  } catch (const Error& error) {
    // A batch system signals the scorers too: their failures are then no errors.
    if (reporter.should_stop()) return static_cast<int>(Status::kInterrupted);
    report_failure(reporter, error);
    throw;
  } catch (const std::exception& error) {
    if (const auto full = out_of_memory_error(error, job.device)) {
      report_failure(reporter, *full);
      throw Error(*full);
    }
    report_failure(reporter, Error(error.what(), "harness-worker",
                                   "this is a defect of the program; please report it with worker.log"));
    throw;
  }
}

/// The program that `harness` execs for some commands. With --json an error is a document on standard output.
int run_request(const std::string& command, const Json& request) {
  static const std::map<std::string, int (*)(const Json&)> commands = {
      {"sample", sample_command},
      {"pretrain", pretrain_command},
      {"parity", parity_command},
      {"check", check_command},
      {"check-scorers", check_scorers_command},
      {"check-texts", check_texts_command}};
  const auto found = commands.find(command);
  if (found == commands.end()) throw Error(fmt::format("unknown command \"{}\"", command), "harness-worker");
  try {
    return found->second(request);
  } catch (const Error& error) {
    if (!request.value("json", false)) throw;
    put("{}\n", Json{{"error", {{"what", error.problem()}, {"where", error.where()}, {"hint", error.hint()}}}}
                    .dump());
    return static_cast<int>(error.status());
  } catch (const std::exception& error) {
    if (const auto full = out_of_memory_error(error, request.value("device", "the device")))
      throw Error(*full);
    throw;
  }
}

/// GPU support of this build: {"kernels", and "missing" with a "hint"}.
Json gpu_support() {
  Json support = {{"kernels", gpu::has_kernels()}};
  if (const auto problem = load_cuda_library())
    support.update({{"missing", *problem}, {"hint", kCudaLibraryHint}});
  return support;
}

int run_command(int count, char** words) {
  const std::string command = count > 1 ? words[1] : "";
  if (command == "run" && count == 3) return run_job(words[2]);
  // For batch scripts: whether an interrupted job has advanced since its last start.
  if (command == "advanced" && count == 3) return last_attempt(words[2], 0).has_advanced ? 0 : 1;
  if (command == "describe" && count == 2) {
    put("{}\n", describe_build().dump(1));
    return 0;
  }
  if (command == "device" && count == 3) {
    put("{}\n", planned_device(words[2]));
    return 0;
  }
  if (command == "gpu" && count == 2) {
    put("{}\n", gpu_support().dump());
    return 0;
  }
  if (count == 4 && std::string(words[2]) == "--request") return run_request(command, read_json(words[3]));
  throw Error("is started by harness, not by hand", "harness-worker",
              "usage: harness-worker run FOLDER | advanced FOLDER | describe | device NAME | gpu | "
              "sample|pretrain|parity|check|check-scorers|check-texts --request FILE");
}

int status_of(int count, char** words) {
  prepare_streams();
  try {
    return finished_status(run_command(count, words));
  } catch (const Error& error) {
    tell("error: {}\n", error.what());
    return static_cast<int>(error.status());
  } catch (const std::exception& error) {
    tell("error: {}\n", error.what());
    return 1;
  }
}

/// Exits without destroying LibTorch's static objects, which takes a tenth of a short job's time.
[[noreturn]] void end_process(int status) {
  std::fflush(nullptr);
#ifdef __SANITIZE_ADDRESS__
  std::exit(status);  // it looks for leaks then
#else
  std::_Exit(status);
#endif
}

}  // namespace

void run_program(int count, char** words) {
  end_process(status_of(count, words));
}

}  // namespace harness
