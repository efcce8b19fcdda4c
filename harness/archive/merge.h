#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "harness/archive/taking_in.h"

namespace harness {

/// What of a source came in.
struct MergedSource {
  std::filesystem::path folder;
  std::int64_t runs = 0, experiments = 0;  ///< that it holds
};

struct Merged {
  std::vector<MergedSource> sources;
  Taken taken;
};

/// Takes all runs and experiments of other workspaces into one, which may be new. The sources are only read:
/// their journals and event logs are the record, and their images and checkpoints get a second name where the
/// file system can do that, and are copied elsewhere. Throws Error, the workspace as it was: a run that is in
/// two of them with other event logs, a source that is at work, or one whose logs are not whole.
Merged merge_workspaces(const std::vector<Workspace>& sources, const Workspace& into);

}  // namespace harness
