#pragma once

#include "harness/work/plan_work.h"

namespace harness {

/// Says what the plans take and what they can find, and writes nothing. Returns the exit status.
int dry_run(const WorkOptions& options, Plans& plans);

}  // namespace harness
