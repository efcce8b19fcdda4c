#pragma once

#include "harness/plan/plan_check.h"
#include "harness/work/plan_work.h"

namespace harness {

/// Throws Error (status 2) where so many workers, which take `needed` bytes each, do not fit beside what
/// other processes hold on a GPU.
void require_room(const GpuMemory& gpu, int workers, double needed);

/// The same before the trainings of a plan that are left start on GPUs of this machine, by check_plan's
/// `resources`. Evaluations take less, and nobody counts how much.
void require_free_memory(const WorkOptions& options, const Plan& plan, Store& store, const Json& resources);

}  // namespace harness
