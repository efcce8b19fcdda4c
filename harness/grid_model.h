#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "results/grid.h"
#include "results/store.h"

namespace harness {

/// What a grid shows: groups in order, and how many rows in all.
struct GridChoice {
  std::vector<GridGroup> groups{GridGroup::kWins, GridGroup::kMixed, GridGroup::kFailures};
  std::size_t rows = 9;
};

/// Test prompts chosen by rule, one column for the starting weights and for each method (the first seed),
/// from the DB and the images of the run folders. Throws Error if an evaluation lacks a sample.
Grid make_grid(Store& store, const StoredReproduction& reproduction, const GridChoice& choice);

/// grid.png, grid.tex and grid.html in `folder`; gives their paths by name.
std::map<std::string, std::string> write_grid(const Grid& grid, const std::filesystem::path& folder);

}  // namespace harness
