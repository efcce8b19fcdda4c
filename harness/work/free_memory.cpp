#include "harness/work/free_memory.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"
#include "core/text.h"
#include "harness/run/dealing.h"
#include "harness/run/estimate.h"

namespace harness {

void require_room(const GpuMemory& gpu, int workers, double needed) {
  constexpr double kCertain = 0.9;  // an estimate is within a tenth
  if (gpu.total == 0 || kCertain * workers * needed <= gpu.free) return;
  throw Error(
      fmt::format("{:.1f} of the {:.1f} GB of GPU {} are free, and {} about {:.1f} GB{}", gpu.free / 1e9,
                  gpu.total / 1e9, gpu.name,
                  workers == 1 ? "a worker needs" : fmt::format("{} workers need", workers), needed / 1e9,
                  workers == 1 ? "" : " each"),
      "--device",
      "nvidia-smi names the processes that hold it: wait for them, choose another GPU, or take fewer --jobs. Runs "
      "with --set gradient_checkpointing=true or a smaller group_size need less");
}

void require_free_memory(const WorkOptions& options, const Plan& plan, Store& store, const Json& resources) {
  const double needed = bytes_needed(resources);
  if (plan.device_kind == "cpu" || needed == 0 || options.dealing.executor != kLocalExecutor) return;
  const auto jobs = planned_jobs(plan, options.fresh ? nullptr : &store, Rates());
  const auto left = static_cast<int>(
      std::ranges::count_if(jobs, [](const PlannedJob& job) { return job.kind == "train" && !job.done; }));
  if (left == 0) return;
  const auto shares = shares_of(options.dealing, plan);
  const int workers = std::min(shares.jobs, left) * shares.ranks;
  auto gpus = gpus_of(options.dealing, plan);
  if (gpus.empty()) {  // one that was named
    require_room(fullest_of(gpu_names(plan.device)), workers, needed);
    return;
  }
  gpus.resize(std::min(gpus.size(), static_cast<std::size_t>(workers)));  // the first ones, a worker each
  require_room(fullest_of(join(gpus, ",")), 1, needed);
}

}  // namespace harness
