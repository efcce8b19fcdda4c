#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/json.h"
#include "harness/workspace.h"
#include "results/store.h"

namespace harness {

/// A run that is to go: its rows, its folder, or both (a removal that was interrupted leaves the folder).
struct Removal {
  std::string id;
  std::optional<StoredRun> run;
  std::filesystem::path folder;
  std::vector<Json> experiments;  ///< that rest on it, and go with it

  std::string text() const;  ///< "0562654bf1b14d57 (ratio-norm, seed 42)"
};

/// What `ids` (whole, or unique beginnings) mean, each once. Throws Error (status 2) for an unknown one.
std::vector<Removal> find_removals(Store& store, const Workspace& workspace,
                                   const std::vector<std::string>& ids);

/// Throws Error (Status::kFailed): a living process holds a log of the run; or, without `force`, a finished
/// experiment rests on it, naming the tables.
void require_removable(const Removal& removal, bool force);

/// Deletes the rows, then the folder, which is renamed first: interrupted at any point, the DB speaks of
/// whole folders only, and repeating the command ends the removal.
void remove_run(Store& store, const Removal& removal);

/// Deletes what interrupted removals left. Gives the folders.
std::vector<std::string> clear_interrupted_removals(const Workspace& workspace);

}  // namespace harness
