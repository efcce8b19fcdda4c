#pragma once

#include <map>
#include <string>
#include <vector>

#include "harness/read/experiments.h"
#include "results/table/table.h"

namespace harness {

/// One row a run, in the experiment's order of methods, then seeds: each column's mean over the table's
/// window of updates. `window_unit`: "updates" or "epochs" in place of the spec's; empty: the spec's.
std::vector<TableRow> training_rows(Store& store, const Experiment& experiment,
                                    const std::string& window_unit = {});

/// The values of the columns of training statistics for one run, by column: means over the table's window.
std::map<std::string, Summary> training_columns(Store& store, const Experiment& experiment,
                                                const ExperimentRun& run,
                                                const std::string& window_unit = {});

/// The window in words: "the run's last 50 updates", or all of a run that has fewer.
std::string window_text(const Experiment& experiment);

/// The same, as a sentence for the notes.
std::string window_note(const Experiment& experiment, const std::string& window_unit = {});

/// A column's values of two methods, paired by seed.
std::vector<PairedValue> seed_pairs(const std::vector<TableRow>& rows, const std::string& baseline,
                                    const std::string& method, const std::string& column);

/// Every method against the baseline, column by column.
std::vector<Comparison> training_comparisons(const Experiment& experiment,
                                             const std::vector<TableColumn>& columns,
                                             const std::vector<TableRow>& rows);

/// Decides the paper's statements that the table's spec lists.
std::vector<TableClaim> decide_claims(const Experiment& experiment, const TableModel& model);

}  // namespace harness
