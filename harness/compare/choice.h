#pragma once

#include <string>
#include <vector>

#include "harness/compare/compared_row.h"
#include "harness/compare/question.h"

namespace harness {

/// --metric: unset the first that the experiments of all rows have, "all" those of them that the baseline's
/// table names. Throws Error saying why one is not there, or which row lacks it.
std::vector<std::string> chosen_metrics(Store& store, const std::vector<ComparedRow>& rows,
                                        const CompareQuestion& question);

/// --split, or unset the one that the baseline's table shows. Throws Error naming a row that was not
/// evaluated on it.
std::string chosen_split(const std::vector<ComparedRow>& rows, const CompareQuestion& question);

}  // namespace harness
