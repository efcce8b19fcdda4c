#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "harness/plan/table_spec.h"

namespace harness {

/// Where the checkpoints of one training run lie that was made elsewhere, by step.
using OutsideRun = std::map<int, std::filesystem::path>;

/// The runs of a row from outside, one a seed, in the seeds' order. Each of its places gives one, unless it
/// is a single one with {seed} in it. A run's places are those of places_in; {step} in one stands for every
/// number there is, and one without it has the last number of its name, or is step 1 where it is the only
/// one. Relative ones are below `folder`, that of the table's file. Throws Error (status 2): as many runs as
/// seeds are needed, nothing there, a step that is there twice.
std::vector<OutsideRun> outside_runs(const ArmSpec& arm, const std::vector<std::int64_t>& seeds,
                                     const std::filesystem::path& folder);

}  // namespace harness
