#pragma once

#include <optional>
#include <string>

#include "harness/show/experiments.h"
#include "results/verdict/yardstick.h"

namespace harness {

/// How an experiment was made, but for what single rows change: backbone and weights, scale, task, prompts
/// and split, checkpoints and selection, the loop's settings. The noise between runs may depend on all of it.
Json conditions_of(const Experiment& experiment);

/// What the last other experiment that was made as this one made of its equal rows and of its others, where
/// it has both (table calibration), and where its runs allow claims about methods.
std::optional<Calibration> latest_calibration(Store& store, const Experiment& experiment,
                                              const std::string& split);

/// What two runs of one method differ by, at the selected checkpoints on `split`, from the DB alone: in this
/// experiment, where its table has equal rows (TableSpec::equal_rows), else in the last other one that was
/// made as this one (conditions_of) and has them. Rows that --set gave other settings than the first do not
/// count. Nothing for a table of the training.
std::optional<Yardstick> yardstick_for(Store& store, const Experiment& experiment, const std::string& split);

}  // namespace harness
