#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "harness/archive/manifest.h"
#include "harness/workspace/workspace.h"

namespace harness {

struct ExportRequest {
  std::int64_t experiment = 0;
  std::filesystem::path file;  ///< to write
  bool images = false, checkpoints = false;
};

struct Exported {
  ArchiveManifest manifest;
  std::uint64_t bytes = 0;  ///< of the archive
  std::string sha256;       ///< likewise
  std::vector<std::string> notes;
};

/// Writes an experiment of the workspace, with its runs and all that its numbers rest on, into one file. The
/// bytes depend on the experiment and on what is asked for, not on when, where and as which number it was
/// made. Every log, and each image and checkpoint that goes in, is held against its checksum first. Throws
/// Error, and then writes nothing. Only reads the workspace.
Exported export_experiment(const Workspace& workspace, const ExportRequest& request);

}  // namespace harness
