#pragma once

#include <string>
#include <vector>

#include "harness/show/comparisons.h"
#include "results/verdict/families.h"

namespace harness {

/// What judges an experiment's differences on a split. comparisons: of pairs that its table compares, in all
/// metrics that are measured there; the variances between runs of those that the plan asks for are raised. Of
/// methods: the questions of its plan and of the others of the same family, those that are not among the
/// comparisons as never resolved; at looks before this one by the runs of that look.
Families families_of(ScoreReader& scores, const Experiment& experiment, const std::string& split,
                     std::vector<Comparison>& comparisons);

}  // namespace harness
