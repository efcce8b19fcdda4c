#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/spec/table_spec.h"

namespace harness {

/// --effect as typed is above 0, and no larger than one of `metrics` can differ by. Throws Error.
void require_effect(const std::optional<double>& effect);
void require_sensible_effect(const std::optional<double>& effect, const TableSpec& table,
                             const std::vector<std::string>& metrics);

}  // namespace harness
