#pragma once

#include <functional>
#include <string>

#include "harness/plan/plan.h"

namespace harness {

// What earlier commands may have left at work on a plan: two workers of one job would only hinder each other.

/// Throws Error (status 2) naming a job of the plan that Slurm has.
void require_none_with_slurm(const Plan& plan);

/// The same for runs that are to begin anew (--fresh) with Slurm: their jobs go by the names of the new ones,
/// which would be taken for those.
void require_none_to_adopt(const Plan& plan);

/// A worker that outlived its orchestrator still holds its log for a moment: its input has closed, so it ends
/// after its shard. `say` tells the user that this is waited for. Throws Error (Status::kFailed) after a
/// minute.
void wait_for_left_workers(const Plan& plan, const std::function<void(const std::string&)>& say);

}  // namespace harness
