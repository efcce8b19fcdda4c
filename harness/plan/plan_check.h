#pragma once

#include <string>
#include <vector>

#include "core/json.h"
#include "harness/plan/plan.h"

namespace harness {

/// What only a worker can check in a plan.
struct PlanCheck {
  /// The bytes that it will take: "memory" by part with "total", "stored" of one of each; empty for small
  /// backbones.
  Json resources = Json::object();
  std::vector<std::string> outside = {};  ///< what each row of checkpoints from outside holds
};

/// The same of one whose work is dealt like that. Throws Error (status 2) for settings that do not fit
/// together, a folder or a checkpoint from outside that cannot be read, runs that are one training, and a
/// model that is too large.
PlanCheck check_plan(const Plan& plan, const Shares& shares);

/// For a plan whose jobs are all done, maybe by commands with one run each: throws Error (status 2) where
/// runs from outside of one row are one training.
void check_runs_from_outside(const Plan& plan);

/// Of a worker, by check_plan; 0 for small backbones.
double bytes_needed(const Json& resources);

/// What nvidia-smi calls the GPUs of a device: "3" of "cuda:3", or the entry of CUDA_VISIBLE_DEVICES with
/// that number; all entries of "cuda". Empty: all of the machine.
std::string gpu_names(const std::string& device);

/// A GPU's bytes: all of them, and those that no process holds.
struct GpuMemory {
  std::string name = {};
  double total = 0, free = 0;
};

/// That of these, separated by commas, which has least free; all 0 if unknown.
GpuMemory fullest_of(const std::string& gpus);

/// The most processes up to `most` that can share each update of a plan's runs. Throws like the above.
int ranks_up_to(int most, const Plan& plan);

}  // namespace harness
