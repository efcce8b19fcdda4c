#pragma once

#include <filesystem>
#include <vector>

#include "core/json.h"

namespace harness {

/// Checks case folders against their recorded outputs: kinds without a model here, the others in
/// harness-worker. The answer is
/// {"cases": [{"name", "kind", "passed", "max_abs", "max_rel", "message"}]} in the order given; a kind that
/// nobody knows is a case that did not pass. Throws Error (status 2) for a folder that holds no case.
Json check_parity(const std::vector<std::filesystem::path>& folders);

}  // namespace harness
