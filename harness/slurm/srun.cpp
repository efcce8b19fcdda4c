#include <fmt/format.h>

#include <charconv>

#include "core/error.h"
#include "core/host.h"
#include "core/text.h"
#include "harness/slurm/slurm.h"

namespace harness::slurm {
namespace {

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

class Srun : public Launcher {
 public:
  Srun() : Launcher("srun") {}

  void require() const override {
    if (environment("SLURM_JOB_ID").empty()) {
      throw Error("this is not inside an allocation of Slurm", "--executor srun",
                  "start the command from a batch script (sbatch), or after salloc");
    }
    if (output_of({"srun", "--version"}).empty()) {
      throw Error("the command srun cannot be started", "--executor srun", "put Slurm's commands on PATH");
    }
  }

  Room room() const override {
    return {.cores = cpus_of_allocation(environment("SLURM_JOB_CPUS_PER_NODE")),
            .nodes = number_in(environment("SLURM_JOB_NUM_NODES"), 1),
            .gpus = number_in(environment("SLURM_GPUS_ON_NODE"), 0),
            .memory_mb = number_in(environment("SLURM_MEM_PER_NODE"), 0)};
  }

  std::vector<std::string> job_words(const Shares& shares, bool on_gpus) const override {
    const auto whole = room();
    const int nodes = whole.nodes_for(shares, on_gpus);
    std::vector<std::string> words = {"srun",
                                      "--exact",
                                      "--quiet",
                                      "--kill-on-bad-exit=1",
                                      fmt::format("--nodes={}", nodes),
                                      fmt::format("--ntasks={}", shares.ranks),
                                      fmt::format("--cpus-per-task={}", shares.threads)};
    // A step that names no memory takes all of its node's, and the others wait for it.
    const int of_a_node = (shares.jobs * nodes + whole.nodes - 1) / whole.nodes;
    if (whole.memory_mb > 0) words.push_back(fmt::format("--mem={}M", whole.memory_mb / of_a_node));
    // Ranks of one node see all GPUs of the job there, and choose by their local rank: with one each they
    // could not reach one another's memory.
    if (on_gpus) words.push_back(fmt::format("--gpus-per-node={}", (shares.ranks + nodes - 1) / nodes));
    return words;
  }

  std::vector<std::string> one_per_node_words() const override {
    const int nodes = room().nodes;
    return {"srun",
            "--quiet",
            fmt::format("--nodes={}", nodes),
            fmt::format("--ntasks={}", nodes),
            "--ntasks-per-node=1",
            "--gpus-per-node=1"};
  }
};

}  // namespace

const Launcher& srun() {
  static const Srun launcher;
  return launcher;
}

}  // namespace harness::slurm
