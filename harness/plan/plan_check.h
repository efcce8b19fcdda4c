#pragma once

#include <string>

#include "core/json.h"
#include "harness/plan/plan.h"

namespace harness {

/// What only a worker can say of a plan, whose work is dealt like that. Returns the bytes that it will take:
/// "memory" by part with "total", "stored" of one of each; empty for small backbones. Throws Error (status 2)
/// for settings that do not fit together, a folder that cannot be read, and a model that is too large.
Json check_plan(const Plan& plan, const Shares& shares);

/// Bytes of a device: all of them, and those that no process holds. 0 where nobody can say.
struct DeviceMemory {
  double total = 0, free = 0;
};

/// Of the one of these GPUs that has least free; `gpus`: as nvidia-smi takes them, empty for all.
DeviceMemory memory_of_gpus(const std::string& gpus);

/// Throws Error (status 2) where other processes hold so much of the GPU that the plan's workers, which take
/// `resources` each (check_plan), would not fit beside them.
void require_free_memory(const Plan& plan, const Shares& shares, const Json& resources);

/// The most processes up to `most` that can share each update of a plan's runs. Throws like the above.
int ranks_up_to(int most, const Plan& plan);

}  // namespace harness
