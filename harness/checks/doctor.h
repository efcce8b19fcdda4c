#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/json.h"
#include "harness/plan/workspace.h"

namespace harness {

/// One thing that a feature stands on.
struct Finding {
  /// "machine", "program", "training", "evaluation", "pictures", "checks" or "workspace"
  std::string topic = {};
  std::string name = {};  ///< "Tesseract"
  bool found = false;
  bool needed = false;      ///< by the embedded default; without it that does not run
  std::string detail = {};  ///< what is there
  std::string hint = {};    ///< what it is for and what to do, where it is missing
};

struct DoctorOptions {
  Workspace workspace;
  std::string weights, prompts, scorers;  ///< folders to look into besides the usual places; may be empty
};

/// Looks for everything that some feature of this build needs. Changes nothing, and throws only for folders
/// that were named and are not there.
std::vector<Finding> examine(const DoctorOptions& options);

}  // namespace harness
