#pragma once

#include <string>

#include "harness/compare/compared.h"

namespace harness {

/// On standard output: what the columns of a report mean, and what its intervals, p-values and verdicts rest
/// on.
void print_comparison_legend(const ComparisonReport& report);

/// What is said of checkpoints, said of images where all rows are given images.
std::string in_its_words(const ComparisonReport& report, std::string text);

}  // namespace harness
