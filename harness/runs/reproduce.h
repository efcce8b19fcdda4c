#pragma once

#include <string>

#include "harness/plan/plan.h"

namespace harness {

struct ReproduceOptions {
  PlanRequest request;
  WorkspaceChoice place;
  int jobs = 0;  ///< workers at a time; 0: as many as keep the cores busy
  bool dry_run = false, fresh = false, json = false;
};

/// `harness reproduce`: plan, run what is not done, select, test, compare, write and print the table. Gives
/// the exit status; throws Error for everything that goes wrong.
int reproduce(const ReproduceOptions& options);

}  // namespace harness
