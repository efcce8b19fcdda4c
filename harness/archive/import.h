#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "harness/archive/taking_in.h"

namespace harness {

/// What `harness import` takes: an archive of `harness export`, the folder of a run, or a workspace.
struct PlaceKind {
  const char* name;
  /// Copies or unpacks what `place` holds into the folder of `incoming`, and checks it.
  void (*gather)(const std::filesystem::path& place, const Workspace& into, Incoming& incoming);
};

/// Throws Error (status 2) for any other place.
const PlaceKind& kind_of(const std::filesystem::path& place);

struct Imported {
  std::int64_t runs = 0, experiments = 0;  ///< that the place holds
  std::vector<std::string> left_out;       ///< parts that an archive was made without
  Taken taken;
};

/// Takes what a place holds into a workspace, which may be new. The place is only read; images and
/// checkpoints of a folder get a second name where the file system can do that. Everything is gathered in the
/// workspace's folder and checked before anything is moved in. Throws Error, the workspace as it was:
/// something is damaged or hostile, a run is here with other results, or a process is active there.
Imported import_place(const Workspace& workspace, const std::filesystem::path& place);

// How each kind is gathered.

/// Checksums, names of files, ids of jobs, logs, and that the records are of the manifest's experiment.
void gather_archive(const std::filesystem::path& archive, const Workspace& into, Incoming& incoming);

/// A run that the workspace's journal recorded before it was removed comes back with those records, and with
/// the experiments that have all of their runs again. Of any other one a folder records what was run and
/// measured, not what was decided: its table, what was selected and with it the evaluation on the test split
/// are left to a `reproduce`; it must be finished and whole.
void gather_run(const std::filesystem::path& folder, const Workspace& into, Incoming& incoming);

/// All runs and experiments. No other process may be active there.
void gather_workspace(const std::filesystem::path& folder, const Workspace& into, Incoming& incoming);

}  // namespace harness
