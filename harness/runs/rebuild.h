#pragma once

#include <functional>
#include <string>

#include "core/json.h"
#include "harness/workspace/workspace.h"
#include "results/store/store.h"

namespace harness {

/// The workspace's DB for writing, in step with its journal: one that is not there, or empty, is made from
/// the journal and the event logs first (Store::keep_journal). `say`: takes messages for the user. The
/// caller holds the workspace's lock.
Store open_workspace(const Workspace& workspace, const std::function<void(const std::string&)>& say);

struct Rebuilt {
  /// {"db", "kept" (path or null), "runs", "evaluations", "experiments", "left_out": [text], "notes": [text]}
  Json document;
  bool is_journal_lost = false;  ///< its copy, too: folders of runs may be there that it does not record
};

/// Rebuilds the results DB from OUT/journal.log and the event logs, and takes its place in one step; the old
/// file stays as results.sqlite.bak-N. A journal that is missing, truncated or damaged is first restored from
/// its copy. `force`: also where logs are gone or damaged, or the journal and its copy are. Throws Error, the
/// old DB as it was.
Rebuilt rebuild_database(const Workspace& workspace, bool force);

/// What is wrong with a workspace's DB, logs and images: {"db", "version", "findings": [text], "notes":
/// [text], "rows_compared" (bool), "hint" (what mends it, or null)}. Changes nothing. Throws Error (status 2)
/// if there is no DB, or it is another program's or workspace's; (status 1) if the disk or another process is
/// in the way. `files`: also the folders of runs, and images.
Json check_database(const Workspace& workspace, bool files);

}  // namespace harness
