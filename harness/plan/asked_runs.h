#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/plan/plan.h"
#include "harness/workspace/workspace.h"

namespace harness {

// The runs that a workspace's user wants now, in OUT/.asked.json: of what is unfinished the journal does not
// say what was given up, and what a command goes on with.

/// Writes down the runs of the plans that a command begins or goes on with, and what they are evaluated on.
void note_asked_runs(const Workspace& workspace, const std::vector<const Plan*>& plans);

struct AskedEvaluation {
  std::string split;
  std::optional<std::int64_t> step = {};  ///< nothing: of the checkpoint that is selected
  std::int64_t images = 0;
};

struct AskedRuns {
  std::map<std::string, std::vector<AskedEvaluation>> runs;  ///< by id
  std::string at;                                            ///< UTC, ISO 8601
};

/// Nothing where none were written down, or what was cannot be read.
std::optional<AskedRuns> asked_runs(const Workspace& workspace);

}  // namespace harness
