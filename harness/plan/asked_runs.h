#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "harness/plan/plan.h"
#include "harness/plan/workspace.h"

namespace harness {

// The runs that a workspace's user wants now, in OUT/.asked.json: of what is unfinished the journal does not
// say what was given up, and what a command goes on with.

/// Writes down the runs of the plans that a command begins or goes on with.
void note_asked_runs(const Workspace& workspace, const std::vector<const Plan*>& plans);

struct AskedRuns {
  std::set<std::string> ids;
  std::string at;  ///< UTC, ISO 8601
};

/// Nothing where none were written down, or what was cannot be read.
std::optional<AskedRuns> asked_runs(const Workspace& workspace);

}  // namespace harness
