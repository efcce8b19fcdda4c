#pragma once

#include <optional>
#include <string>
#include <vector>

namespace harness {

/// What `score` was asked for, as typed; empty: the default.
struct ScoreRequest {
  std::vector<std::string> rows;  ///< NAME=PLACE, again for each further run of a row
  std::string prompts;            ///< a file, a folder with one, or the name of a set of this program
  std::string baseline, name = "images", title, like, scorers, split, device = "auto";
  std::vector<std::string> metrics, sets;
  std::optional<int> samples, first_index;
  bool runs_elsewhere = false;
  std::string gpu;
};

}  // namespace harness
