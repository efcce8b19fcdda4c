#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "harness/plan/plan.h"

namespace harness {

/// What `score` was asked for, as typed; empty: the default.
struct ScoreRequest {
  std::vector<std::string> rows;  ///< NAME=PLACE, again for each further run of a row
  std::string prompts;            ///< a file, a folder with one, or the name of a set of this program
  std::string baseline, name = "images", title, like, scorers, split, device = "auto";
  std::vector<std::string> metrics, sets;
  std::optional<int> samples;
  int first_index = 0;
  bool runs_elsewhere = false;
  std::string gpu;
};

/// The plan of a table whose rows are images that other systems drew: nothing is trained and nothing drawn.
/// Writes nothing. Throws Error (status 2) for images, prompts and metrics that do not go together.
Plan make_score_plan(const ScoreRequest& request, const Workspace& workspace);

}  // namespace harness
