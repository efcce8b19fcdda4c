#include "harness/run/dealing.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/command_line/command_line.h"
#include "core/error.h"
#include "core/text.h"
#include "harness/plan/plan_check.h"
#include "harness/plan/worker_request.h"
#include "harness/terminal/output.h"

namespace harness {
namespace {

constexpr int kManyJobs = 1024;

/// That the processes of one job can have in a machine or node.
int gpus_of_a_node(const DealingOptions& options, const Plan& plan) {
  if (plan.device_kind == "cpu" || plan.device != kAllGpus) return 1;
  if (options.launcher != nullptr) return options.launcher->room().gpus;
  if (options.batch == nullptr) return static_cast<int>(gpus_of(options, plan).size());
  if (const auto named = options.batch->parse(options.arguments).gpus_per_node) return *named;
  throw Error(
      "the number of GPUs per node is unknown", "--ranks auto",
      fmt::format("name them, as in {} '--gpus-per-node=8', or give a number", options.batch->option()));
}

/// Jobs on GPUs of which each process has one, and how the cores are dealt to them.
Shares shares_of_gpus(const DealingOptions& options, int gpus, int cores) {
  const auto most = gpus / options.ranks;
  const int jobs = options.jobs.value_or(most);
  if (jobs > most || most == 0) {
    throw Error(fmt::format("{} of {} each need {} GPUs, and there are {}", counted(std::max(1, jobs), "job"),
                            options.ranks == 1 ? std::string("1 process")
                                               : fmt::format("{} processes", options.ranks),
                            std::max(1, jobs) * options.ranks, gpus),
                "--device cuda", "take fewer --jobs or --ranks");
  }
  return {.jobs = jobs, .ranks = options.ranks, .threads = std::max(1, cores / (jobs * options.ranks))};
}

/// 1 for "auto", which the plan decides.
int parse_ranks(const std::string& text) {
  if (text == "auto") return 1;
  const auto ranks = parse_number<int>(text);
  if (!ranks)
    throw Error(fmt::format("{} is not a whole number", in_quotes(text)), "--ranks", "give one, or auto");
  require_range(*ranks, 1, 1024, "--ranks");
  return *ranks;
}

}  // namespace

void check_dealing(DealingOptions& options) {
  if (options.jobs) require_range(*options.jobs, 1, kManyJobs, "--jobs");
  options.ranks = parse_ranks(options.ranks_text);
  require_choice(options.executor, executor_names(), "executor", "--executor");
  options.batch = find_batch(options.executor);
  options.launcher = find_launcher(options.executor);
  if (options.batch != nullptr)
    options.batch->require(is_continuation() ? kBatchPatience : std::chrono::minutes(0));
  if (options.launcher != nullptr) options.launcher->require();
  for (const auto& batch : batches()) {
    const auto arguments = join(options.typed[batch->names.executor], " ");
    batch->parse(arguments);
    if (batch.get() == options.batch) {
      options.arguments = arguments;
    } else if (!arguments.empty()) {
      throw Error("is for batch jobs of " + batch->names.name, batch->option(), "add " + batch->choice());
    }
  }
}

void settle_ranks(DealingOptions& options, const std::vector<Plan>& plans) {
  if (options.ranks_text != "auto") return;
  int most = 0;
  for (const auto& plan : plans) {
    if (!plan.backbone.fills_a_node) return;
    if (most == 0) most = gpus_of_a_node(options, plan);
    most = ranks_up_to(most, plan);
  }
  options.ranks = most;
}

std::vector<std::string> gpus_of(const DealingOptions& options, const Plan& plan) {
  const bool shares_gpus = options.executor == kLocalExecutor && plan.device == kAllGpus;
  return shares_gpus ? visible_gpus() : std::vector<std::string>();
}

Shares shares_of(const DealingOptions& options, const Plan& plan) {
  if (options.batch != nullptr) {  // which decides how many there are at a time, and where
    const int cores =
        options.batch->parse(options.arguments).threads.value_or(std::max(1, plan.backbone.threads));
    return {.jobs = options.jobs.value_or(kManyJobs), .ranks = options.ranks, .threads = cores};
  }
  const auto room = options.launcher != nullptr ? options.launcher->room() : Room{.cores = core_count()};
  if (const auto gpus = gpus_of(options, plan); !gpus.empty())
    return shares_of_gpus(options, static_cast<int>(gpus.size()), room.cores);
  if (plan.device == kAllGpus && room.gpus > 0)
    return shares_of_gpus(options, room.gpus * room.nodes, room.cores);
  Shares shares{.jobs = std::max(1, room.nodes / options.ranks), .ranks = options.ranks};
  if (options.jobs) {
    shares.jobs = *options.jobs;
  } else if (plan.backbone.threads > 0) {
    const auto trained = static_cast<int>(plan.methods.size() * plan.seeds.size());
    shares.jobs = std::clamp(room.cores / (plan.backbone.threads * shares.ranks), 1, std::max(1, trained));
  }
  shares.threads =
      std::clamp(room.cores / (shares.jobs * shares.ranks), 1, std::max(1, room.cores / room.nodes));
  return shares;
}

}  // namespace harness
