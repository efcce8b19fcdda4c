#pragma once

#include <string>
#include <vector>

#include "core/json.h"

namespace harness {

/// One JSON document on standard output.
void print_json(const Json& document);

/// Objects as aligned columns for reading: `columns` are the fields shown, in order. Missing fields and nulls
/// are blank.
void print_rows(const std::vector<Json>& rows, const std::vector<std::string>& columns);

/// `value` must be one of `known`, else Error (status 2) with the nearest.
void require_choice(const std::string& value, const std::vector<std::string>& known, const std::string& noun,
                    const std::string& where);

}  // namespace harness
