#pragma once

#include <vector>

#include "harness/compare/compared_row.h"
#include "harness/compare/question.h"
#include "harness/show/comparisons.h"

namespace harness {

/// Rows, the baseline's first. Those of one experiment are judged as its table judges them. A row of another
/// experiment must differ from the baseline in nothing but the method (require_comparable); Holm's adjustment
/// is then over what is asked for, and a row of the baseline's own experiment is judged in that one's table.
/// Throws Error (status 2) for a metric or split that a row lacks, and for a claim that is asked for and not
/// allowed.
ComparisonReport make_report(Store& store, std::vector<ComparedRow> rows, const CompareQuestion& question);

}  // namespace harness
