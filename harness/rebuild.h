#pragma once

#include <string>
#include <vector>

#include "core/json.h"
#include "harness/workspace.h"

namespace harness {

/// Makes the results DB again from OUT/journal.log and the event logs of the run folders, beside the old one,
/// and takes its place in one step; the old file stays as results.sqlite.bak-N. `force`: also where logs that
/// the journal speaks of are gone or damaged. Gives {"db", "kept" (path or null), "runs", "evaluations",
/// "experiments", "left_out": [text]}. Throws Error: the workspace is in use, has no journal and no DB that
/// one could be made from, or something would be left out; the old DB then stands as it was.
Json rebuild_database(const Workspace& workspace, bool force);

/// What is wrong with a workspace's DB: {"db", "version", "findings": [text], "notes": [text],
/// "rebuild_helps": whether rows are concerned}. Checks the file, foreign keys, the schema's version,
/// finished evaluations, every row against journal and event logs, folders that no row knows, and the images
/// of the runs in this workspace against their checksums. Changes nothing. Throws Error (status 2) if there
/// is no DB.
Json check_database(const Workspace& workspace);

}  // namespace harness
