#pragma once

#include <functional>
#include <string>

#include "harness/work/plan_work.h"

namespace harness {

/// Makes the plans for a workspace and a kind of GPU (PlanRequest::gpu).
using MakePlans = std::function<Plans(const Workspace& workspace, const std::string& gpu)>;

/// Plan, run what is not done, select, test, compare, write and print the table. Returns the exit status.
int carry_out(WorkOptions options, const MakePlans& make_plans);

}  // namespace harness
