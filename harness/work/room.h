#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "harness/plan/plan_check.h"
#include "harness/run/estimate.h"
#include "harness/work/plan_work.h"

// Whether there is room for what plans need: on the disk, and in the memory of GPUs.
namespace harness {

/// What plans need of the disk of their workspace, in megabytes, and what is free there.
struct DiskRoom {
  std::filesystem::path place;         ///< the workspace, or the part of its path that is there
  std::optional<double> free_mb = {};  ///< nothing where it is unknown
  DiskNeed need = {};

  /// Throws Error (status 2) where not even what is certain fits.
  void require() const;
  /// What to tell where the estimate does not fit, and what is certain does; else "".
  std::string note() const;
};

/// `needs`: of each plan.
DiskRoom disk_room(const std::filesystem::path& workspace, const std::vector<DiskNeed>& needs);

/// Throws Error (status 2) where so many workers, which take `needed` bytes each, do not fit beside what
/// other processes hold on a GPU.
void require_room(const GpuMemory& gpu, int workers, double needed);

/// The same before the trainings of a plan that are left start on GPUs of this machine, by check_plan's
/// `resources`. Evaluations take less, which is not counted.
void require_free_memory(const WorkOptions& options, const Plan& plan, Store& store, const Json& resources);

}  // namespace harness
