#pragma once

#include <functional>
#include <string>

#include "harness/plan/plan.h"

namespace harness {

// What earlier commands may have left at work on a plan: two workers of one job would only hinder each other.

/// Throws Error (status 2) naming a job of the plan that a batch system has. `is_fresh`: its runs are to
/// begin anew as batch jobs, which would be taken for those.
void require_none_in_queue(const Plan& plan, bool is_fresh);

/// A worker that outlived its orchestrator still holds its log for a moment: its input has closed, so it ends
/// after its shard. `say` tells the user that this is waited for. Throws Error (Status::kFailed) after a
/// minute.
void wait_for_left_workers(const Plan& plan, const std::function<void(const std::string&)>& say);

}  // namespace harness
