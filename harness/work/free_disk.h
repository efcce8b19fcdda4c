#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "harness/run/estimate.h"

namespace harness {

/// What plans need of the disk of their workspace, in megabytes, and what is free there.
struct DiskRoom {
  std::filesystem::path place;         ///< the workspace, or the part of its path that is there
  std::optional<double> free_mb = {};  ///< nothing where the system does not say
  DiskNeed need = {};

  /// Throws Error (status 2) where not even what is certain fits.
  void require() const;
  /// What to tell where the estimate does not fit, and what is certain does; else "".
  std::string note() const;
};

/// `needs`: of each plan.
DiskRoom disk_room(const std::filesystem::path& workspace, const std::vector<DiskNeed>& needs);

}  // namespace harness
