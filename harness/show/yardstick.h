#pragma once

#include <optional>
#include <string>

#include "harness/show/experiments.h"
#include "results/verdict/yardstick.h"

namespace harness {

/// How an experiment was made, but for what single rows change: the noise between runs may depend on it.
Json conditions_of(const Experiment& experiment);

/// What the last other experiment under the same conditions made of its equal rows and of its others, where
/// it has both (table calibration) and its runs allow claims about methods.
std::optional<Calibration> latest_calibration(Store& store, const Experiment& experiment,
                                              const std::string& split);

/// An evaluated experiment's own yardstick, else that of the last other one under the same conditions.
std::optional<Yardstick> yardstick_for(Store& store, const Experiment& experiment, const std::string& split);

}  // namespace harness
