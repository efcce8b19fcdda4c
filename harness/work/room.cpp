#include "harness/work/room.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"
#include "core/text.h"
#include "harness/run/dealing.h"
#include "harness/terminal/progress.h"
#include "harness/workspace/workspace.h"

namespace harness {
namespace fs = std::filesystem;
namespace {

std::string megabytes(double mb) {
  return size_text(mb * 1e6);
}

}  // namespace

DiskRoom disk_room(const fs::path& workspace, const std::vector<DiskNeed>& needs) {
  DiskRoom room{.place = existing_part(workspace)};
  std::error_code unknown;
  const auto space = fs::space(room.place, unknown);
  if (!unknown) room.free_mb = static_cast<double>(space.available) / 1e6;
  for (const auto& need : needs) {
    room.need.left_mb += need.left_mb;
    room.need.certain_mb += need.certain_mb;
  }
  return room;
}

void DiskRoom::require() const {
  if (!free_mb || need.certain_mb <= *free_mb) return;
  throw Error(fmt::format("{} are free here, and the remaining work needs about {}, at least {}",
                          megabytes(*free_mb), megabytes(need.left_mb), megabytes(need.certain_mb)),
              place.string(), "free some space, or name a folder on another disk with --out");
}

std::string DiskRoom::note() const {
  if (!free_mb || need.left_mb <= *free_mb || need.certain_mb > *free_mb) return "";
  return fmt::format(
      "{} are free at {}, and the remaining work needs about {}: the disk may become full. Finished work is kept "
      "then, and repeating the command goes on",
      megabytes(*free_mb), place.string(), megabytes(need.left_mb));
}

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
