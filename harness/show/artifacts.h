#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "harness/read/experiments.h"
#include "harness/show/grid_model.h"
#include "results/table/table.h"

namespace harness {

/// The folder of an experiment's files: WORKSPACE/experiments/N-TABLE.
std::filesystem::path experiment_folder(const Store& store, const Experiment& experiment);

/// Paths by name of what was written of it, if all of that is there with the bytes that were recorded.
std::optional<std::map<std::string, std::string>> recorded_artifacts(Store& store,
                                                                     const Experiment& experiment,
                                                                     const std::filesystem::path& folder);

/// Writes and records tables, grid and figures, and fills model.artifacts.
void write_artifacts(Store& store, const Experiment& experiment, const std::filesystem::path& folder,
                     TableModel& model);

/// Where a picture goes for which no folder is named.
struct PicturePlace {
  std::filesystem::path folder;
  std::map<std::string, std::string> written = {};  ///< paths by name; not empty: it is there and stays
};
/// Of a picture with this stem ("grid": grid.png, grid-float.tex): the experiment's folder. What is recorded
/// there stays as it is: a picture of another choice than the table's (`is_usual`), and one whose recorded
/// files were changed, goes to the folder `own` in it.
PicturePlace picture_place(Store& store, const Experiment& experiment, const std::string& stem,
                           bool is_usual);

/// Writes the grid there, unless it is; gives its paths by name.
std::map<std::string, std::string> write_grid(const Grid& grid, const PicturePlace& place,
                                              const GridFiles& files);

/// Makes WORKSPACE/TABLE a link to the experiment's folder, unless it leads to one that differs in nothing
/// but more methods or seeds. Anything else in its place stays there, and there is no link. Returns what a
/// user should know of it.
std::optional<std::string> link_table(Store& store, const Experiment& experiment);

/// Writes the tables of a collection and adds their paths to `whole.artifacts`.
void write_tables(const std::filesystem::path& folder, TableModel& whole);

}  // namespace harness
