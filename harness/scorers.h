#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/json.h"
#include "harness/registry.h"

namespace harness {

/// harness-scorer beside this program, or $HARNESS_SCORER.
std::filesystem::path scorer_path();

/// Why an optional metric cannot be computed here, as the table's footnote says it; nothing if it can.
std::optional<std::string> reason_not_to_run(const Registry& registry, const std::string& metric);

/// {evaluator: its versions and data files} of the evaluators that give `metrics`: part of every identity
/// that depends on them.
Json scorer_identities(const Registry& registry, const std::vector<std::string>& metrics);

/// The same of the evaluator that a task's training reward comes from.
Json reward_identities(const Registry& registry, const std::string& task);

}  // namespace harness
