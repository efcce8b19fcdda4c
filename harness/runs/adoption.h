#pragma once

#include <string>
#include <vector>

#include "core/json.h"
#include "harness/plan/workspace.h"
#include "results/store/store.h"

namespace harness {

/// Folders of runs in the workspace that the DB does not know: their names.
std::vector<std::string> unknown_run_folders(Store& store, const Workspace& workspace);

/// Takes finished runs, whose folders were put into the workspace, into its DB and journal; their table, what
/// was selected and with it the evaluation on the test split are left to a `reproduce`. `ids`: whole, or
/// unique beginnings. Gives [{"name", "method", "seed", "evaluations", "left_to_reproduce"}]. Throws Error
/// saying what cannot be adopted, and then takes nothing (Status::kFailed); for a folder that is not there
/// and a run that the DB holds (Status::kUsage).
Json adopt_runs(Store& store, const Workspace& workspace, const std::vector<std::string>& ids);

/// For a workspace without a journal: throws what adopt_runs would, before anything is made there.
void try_adoption(const Workspace& workspace, const std::vector<std::string>& ids);

/// Brings removed runs back with their rows, and the experiments that then have all that they rest on.
/// `names`: of entries, or unique beginnings of ids. Gives {"restored": [{"name", "folder", "rows"}],
/// "experiments": [numbers], "waiting": [numbers of experiments that lack other runs]}. Throws Error if a
/// name is unknown, its place is taken, or logs lack what was recorded; that entry then stays in the trash.
Json restore_runs(Store& store, const Workspace& workspace, const std::vector<std::string>& names);

}  // namespace harness
