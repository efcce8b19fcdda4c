#pragma once

#include <vector>

#include "harness/compare/compared_row.h"
#include "harness/compare/question.h"

namespace harness {

/// Rows of several experiments, the baseline's first, paired by prompt, sample and seed. What is not the same
/// on both sides is in the report, and decides what may be said: of methods only where nothing but the method
/// differs. Holm's adjustment is over what is asked for; a row of the baseline's own experiment is judged in
/// that one's table.
/// Throws Error (status 2): a metric, split or prompt that a side lacks, the same runs twice, a claim that is
/// asked for and not allowed; unless `anyway`, sides that were not evaluated alike.
ComparisonReport compare_across(const std::vector<ComparedRow>& rows, const CompareQuestion& question,
                                bool anyway);

}  // namespace harness
