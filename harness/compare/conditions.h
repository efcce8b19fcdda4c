#pragma once

#include <string>
#include <vector>

#include "harness/compare/row_pairs.h"

namespace harness {

/// Everything that is not the same on the two sides of a comparison of `metrics`: how the images were drawn
/// and scored (Bearing::kRefused, but for what prompts they are), how the runs were trained and their
/// checkpoints chosen (kCheckpoints), and what is told without consequence: the methods themselves, the code.
/// Prompts that a side was trained on, or had its checkpoint chosen on, are in no test split of its own.
std::vector<SideDifference> differences_of(const ComparedRow& baseline, const ComparedRow& method,
                                           const std::vector<EvaluationPair>& pairs,
                                           const std::vector<std::string>& metrics);

}  // namespace harness
