#pragma once

#include <string>
#include <vector>

#include "core/json.h"
#include "harness/plan/workspace.h"

namespace harness {

// Names that a shell offers as values (Offers), out of the tables and the registry of this build.
std::vector<std::string> backbone_names();
std::vector<std::string> figure_names();
std::vector<std::string> method_names();
std::vector<std::string> metric_names();
std::vector<std::string> scale_names();
std::vector<std::string> query_names();
/// "lr=", "dual.beta_max="
std::vector<std::string> setting_names();

/// Figures as rows of a list.
std::vector<Json> figure_rows();

// Out of a workspace; they throw Error if it has no readable DB.
std::vector<std::string> run_ids(const WorkspaceChoice& choice);
std::vector<std::string> experiment_numbers(const WorkspaceChoice& choice);

}  // namespace harness
