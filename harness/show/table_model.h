#pragma once

#include <string>
#include <vector>

#include "harness/read/experiments.h"
#include "harness/spec/collection.h"
#include "results/table/table.h"

namespace harness {

/// A table from the DB alone. `window_unit`: training_rows. `is_complete`: with the intervals that draw seeds
/// too, which decide nothing and take most of the time (TableFormat::is_complete). Throws Error if the DB's
/// rows do not make one.
TableModel make_table_model(Store& store, const Experiment& experiment, const std::string& window_unit = {},
                            bool is_complete = false);

/// A table of several tasks from those of its tables, `models` made of `experiments`, in their order.
TableModel make_collection_model(const Collection& collection, const std::vector<Experiment>& experiments,
                                 std::vector<TableModel> models);

/// The note of a scale that judges nothing, as tables print it; empty for any other scale.
std::string scale_warning_of(const Experiment& experiment);

}  // namespace harness
