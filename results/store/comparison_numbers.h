#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "results/store/comparison_row.h"

namespace harness {

/// Its numbers with the names of their columns, in the order of the columns.
std::vector<std::pair<std::string, std::optional<double>>> numbers_of(const ComparisonRow& row);

}  // namespace harness
