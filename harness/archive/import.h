#pragma once

#include <filesystem>

#include "harness/archive/manifest.h"
#include "harness/archive/taking_in.h"

namespace harness {

struct Imported {
  ArchiveManifest manifest;
  Taken taken;  ///< with one experiment
};

/// Takes the experiment of an archive into a workspace, which may be new. Everything is unpacked in the
/// workspace's folder and checked before anything is moved in: checksums, ids of jobs, logs, and that the
/// records and the logs make the experiment. Throws Error, the workspace as it was.
Imported import_archive(const Workspace& workspace, const std::filesystem::path& archive);

}  // namespace harness
