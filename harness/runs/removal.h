#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/error.h"
#include "harness/read/known_runs.h"
#include "harness/workspace/workspace.h"
#include "results/store/store.h"

namespace harness {

/// A run that is to go: its rows, its folder, or both (a removal that was interrupted leaves the folder).
struct Removal {
  std::string id;
  std::optional<StoredRun> run;
  std::filesystem::path folder;              ///< in the workspace, where there may be none
  std::vector<ExperimentOfRun> experiments;  ///< they go with it
  std::vector<std::string> lost_logs = {};  ///< its rows were read from them, and its folder has them no more

  std::string text() const;   ///< "0562654bf1b14d57 (ratio-norm, seed 42)"
  std::string label() const;  ///< "ratio-norm, seed 42"
};

/// What removing one run of this workspace means, also where there is neither row nor folder.
Removal removal_of(Store& store, const Workspace& workspace, const std::string& id);

/// Folders of runs in the workspace that the DB does not know: their names.
std::vector<std::string> unknown_run_folders(Store& store, const Workspace& workspace);

/// What `ids` (whole, or unique beginnings) mean, each once. Throws Error (status 2) for an unknown one.
std::vector<Removal> find_removals(Store& store, const Workspace& workspace,
                                   const std::vector<std::string>& ids);

/// Throws Error (Status::kFailed): the run is one that the journal records and the DB lacks, or a living
/// process holds a log of it; or, without `force`, its rows could not be brought back, or a finished
/// experiment rests on it.
void require_removable(const Removal& removal, const Workspace& workspace, bool force);

/// "run 0562654bf1b14d57 (ratio-norm, seed 42) is used by sd35-ocr (experiment 1, scale smoke)": what
/// `command` needs --force for.
Error used_error(const std::vector<Removal>& removals, const std::string& command, Status status);

/// Asks for `command` before runs are removed: lists them on a terminal, and reads the answer. Throws Error
/// (status 2) if standard input is not a terminal.
bool is_removal_agreed(const std::vector<Removal>& removals, const std::string& command);

/// Asks on the terminal. Throws Error (status 2) if standard input is not a terminal.
bool is_agreed(const std::string& command, const std::string& question);

/// Takes the rows away, then renames the folder into the trash: repeating an interrupted command ends the
/// removal. Gives its place in the trash; nothing where there was no folder.
std::optional<std::filesystem::path> remove_run(Store& store, const Workspace& workspace,
                                                const Removal& removal);

}  // namespace harness
