#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/spec/table_spec.h"

namespace harness {

/// Where the checkpoints of one training run lie that was made elsewhere, by step.
using OutsideRun = std::map<int, std::filesystem::path>;

/// The runs of a row from outside, one a seed, in the seeds' order. Each of its places gives one, unless it
/// is a single one with {seed} in it. A run's places are those of places_in; {step} in one stands for every
/// number there is, and one without it has the step that its name states (step_in_name). Where no name states
/// one they are steps 1, 2, ... in the order given. Relative ones are below `folder`, that of the table's
/// file. Throws Error (status 2): as many runs as seeds are needed, nothing there, a step that is there
/// twice, a step for some of them alone.
std::vector<OutsideRun> outside_runs(const ArmSpec& arm, const std::vector<std::int64_t>& seeds,
                                     const std::filesystem::path& folder);

/// What a reader must know of the steps of a row: that they are an order. Nothing where names state them.
std::optional<std::string> steps_note(const ArmSpec& arm, const std::vector<OutsideRun>& runs);

}  // namespace harness
