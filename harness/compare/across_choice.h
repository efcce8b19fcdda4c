#pragma once

#include <string>
#include <vector>

#include "harness/compare/compared_row.h"
#include "harness/compare/question.h"

namespace harness {

// What is compared of rows of several experiments, the baseline's first, and what is to be said of it.

/// Throws Error for a row of a training table, which has no evaluations.
void require_evaluations(const ComparedRow& row);

/// Splits that a row's selected checkpoints were evaluated on.
std::vector<std::string> splits_of(const ComparedRow& row);

/// --split, or the one that the baseline's table shows. Throws Error naming a row that was not evaluated on
/// it.
std::string split_across(const std::vector<ComparedRow>& rows, const CompareQuestion& question);

/// --metric: unset the first that all rows have, "all" those of them that the baseline's table names. Throws
/// Error naming a row that lacks one.
std::vector<std::string> metrics_across(const std::vector<ComparedRow>& rows, const std::string& split,
                                        const CompareQuestion& question);

/// Why a verdict may not be quoted, a sentence each.
std::vector<std::string> warnings_across(const std::vector<ComparedRow>& rows, const std::string& split);

}  // namespace harness
