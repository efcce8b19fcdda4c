#pragma once

#include <string>

#include "results/query.h"

namespace harness {

/// One row as a compact JSON object, keys in the order of the columns.
/// Throws Error for what JSON cannot say: two columns of one name, an infinite number, a text that is not
/// UTF-8.
std::string row_as_json_object(const ResultSet& rows, std::size_t row);

/// Throws Error naming the column if two have the same name.
void require_distinct_columns(const ResultSet& rows);

}  // namespace harness
