#pragma once

#include <vector>

#include "core/json.h"
#include "harness/compare/compared.h"

namespace harness {

/// Adds records[i], those of a method together, with the direction better[i], each judged in the table's
/// family.
void add_comparisons(const std::vector<Comparison>& records, const std::vector<Better>& better,
                     ComparisonReport& report);

/// The document of --json: {"baseline", "comparisons": [...], ...}, one comparison a method and metric.
/// "experiment", "table" and "signature" are null where the rows are of several experiments; "rows" has them
/// of each.
Json report_json(const ComparisonReport& report);

/// Two tables a method, what their columns mean, and at the end a sentence of result a method, on standard
/// output.
void print_report(const ComparisonReport& report);

}  // namespace harness
