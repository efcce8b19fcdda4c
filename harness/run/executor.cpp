#include "harness/run/executor.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "core/error.h"
#include "core/host.h"
#include "core/processes/process.h"
#include "core/require.h"
#include "core/text.h"
#include "harness/plan/worker_request.h"
#include "harness/run/local_job.h"
#include "harness/slurm/command.h"

namespace harness {
namespace {

constexpr const char* kLocal = "local";
constexpr const char* kSrun = "srun";
constexpr int kManyCores = 1 << 16;  // a queue takes whatever comes

int number_in(const std::string& text, int otherwise) {
  int number = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number);
  return parsed.ec == std::errc() && number > 0 ? number : otherwise;
}

/// Of all nodes, by Slurm's "4(x2),2".
int cpus_of_allocation(const std::string& per_node) {
  int sum = 0;
  for (const auto& part : split(per_node, ',')) {
    const auto times = part.find("(x");
    sum += number_in(part, 1) * (times == std::string::npos ? 1 : number_in(part.substr(times + 2), 1));
  }
  return sum;
}

}  // namespace

LocalExecutor::LocalExecutor(const SchedulerSettings& settings)
    : settings_(settings), free_gpus_(std::make_shared<std::vector<std::string>>(settings.gpus)) {}

std::unique_ptr<RunningJob> LocalExecutor::start(boost::asio::io_context& io, Task task,
                                                 RunningJob::OnLine on_line) {
  if (settings_.gpus.empty())
    return std::make_unique<LocalJob>(io, settings_, std::move(task), std::move(on_line));
  const auto count = std::min(free_gpus_->size(), static_cast<std::size_t>(settings_.ranks));
  require(count > 0, "more jobs at a time than GPUs for them");
  auto own = settings_;
  own.gpus.assign(free_gpus_->begin(), free_gpus_->begin() + static_cast<std::ptrdiff_t>(count));
  free_gpus_->erase(free_gpus_->begin(), free_gpus_->begin() + static_cast<std::ptrdiff_t>(count));
  auto job = std::make_unique<LocalJob>(io, own, std::move(task), std::move(on_line));
  job->on_gone = [free = free_gpus_, gpus = own.gpus] {
    free->insert(free->begin(), gpus.begin(), gpus.end());
  };
  return job;
}

std::vector<std::string> visible_gpus() {
  std::vector<std::string> gpus;
  const auto named = environment("CUDA_VISIBLE_DEVICES");
  const auto all = !named.empty()
                       ? split(named, ',')
                       : split(output_of({"nvidia-smi", "--query-gpu=index", "--format=csv,noheader"}), '\n');
  for (const auto& gpu : all) {
    if (!trim(gpu).empty()) gpus.emplace_back(trim(gpu));
  }
  return gpus;
}

std::vector<std::string> executor_names() {
  return {kLocal, kSrun, kSlurmExecutor};
}

void require_executor(const std::string& executor) {
  if (executor == kLocal) return;
  if (executor == kSlurmExecutor)
    return require_slurm("--executor slurm", is_continuation() ? kSlurmPatience : std::chrono::minutes(0));
  if (environment("SLURM_JOB_ID").empty()) {
    throw Error("this is not inside an allocation of Slurm", "--executor srun",
                "start the command from a batch script (sbatch), or after salloc");
  }
  if (output_of({"srun", "--version"}).empty()) {
    throw Error("the command srun cannot be started", "--executor srun", "put Slurm's commands on PATH");
  }
}

Room room_of(const std::string& executor) {
  if (executor == kLocal) return {.cores = core_count()};
  if (executor == kSlurmExecutor) return {.cores = kManyCores};
  return {.cores = cpus_of_allocation(environment("SLURM_JOB_CPUS_PER_NODE")),
          .nodes = number_in(environment("SLURM_JOB_NUM_NODES"), 1),
          .gpus = number_in(environment("SLURM_GPUS_ON_NODE"), 0),
          .memory_mb = number_in(environment("SLURM_MEM_PER_NODE"), 0)};
}

int Room::nodes_for(const Shares& shares, bool on_gpus) const {
  const int wanted = on_gpus ? shares.ranks : shares.threads_of_a_job();
  const int of_a_node = std::max(1, on_gpus ? gpus : cores / nodes);
  return std::clamp((wanted + of_a_node - 1) / of_a_node, 1, std::min(nodes, shares.ranks));
}

std::vector<std::string> launcher_words(const std::string& executor, const Plan& plan, const Shares& shares) {
  if (executor != kSrun) return {};
  const bool on_gpus = plan.device_kind != "cpu";
  const auto room = room_of(executor);
  const int nodes = room.nodes_for(shares, on_gpus);
  std::vector<std::string> words = {"srun",
                                    "--exact",
                                    "--quiet",
                                    "--kill-on-bad-exit=1",
                                    fmt::format("--nodes={}", nodes),
                                    fmt::format("--ntasks={}", shares.ranks),
                                    fmt::format("--cpus-per-task={}", shares.threads)};
  // A step that names no memory takes all of its node's, and the others wait for it.
  const int of_a_node = (shares.jobs * nodes + room.nodes - 1) / room.nodes;
  if (room.memory_mb > 0) words.push_back(fmt::format("--mem={}M", room.memory_mb / of_a_node));
  // Ranks of one node see all GPUs of the job there, and choose by their local rank: with one each they
  // could not reach one another's memory.
  if (on_gpus) words.push_back(fmt::format("--gpus-per-node={}", (shares.ranks + nodes - 1) / nodes));
  return words;
}

std::vector<std::string> one_per_node_words(const std::string& executor) {
  if (executor != kSrun) return {};
  const int nodes = room_of(executor).nodes;
  return {"srun",
          "--quiet",
          fmt::format("--nodes={}", nodes),
          fmt::format("--ntasks={}", nodes),
          "--ntasks-per-node=1",
          "--gpus-per-node=1"};
}

}  // namespace harness
