#pragma once

#include "harness/work/plan_work.h"

namespace harness {

/// Prints the cost of the plans and what they can detect; writes nothing. Returns the exit status.
int dry_run(const WorkOptions& options, Plans& plans);

}  // namespace harness
