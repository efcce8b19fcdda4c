#pragma once

#include <string>

#include "harness/show/experiments.h"
#include "results/table/table.h"

namespace harness {

/// A table from the DB alone. `window_unit`: training_rows. Throws Error if the DB's rows do not make one.
TableModel make_table_model(Store& store, const Experiment& experiment, const std::string& window_unit = {});

/// The note of a scale that judges nothing, as tables print it; empty for any other scale.
std::string scale_warning_of(const Experiment& experiment);

/// True if the checkpoints compared on `split` are the best of several on these very prompts.
bool chooses_on(const Experiment& experiment, const std::string& split);

}  // namespace harness
