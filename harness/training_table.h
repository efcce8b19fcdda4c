#pragma once

#include <string>
#include <vector>

#include "results/store.h"
#include "results/table.h"

namespace harness {

/// What stands where other tables name a split.
inline constexpr const char* kTrainingSplit = "train";

/// True for a reproduction of a training table: its figures are statistics of the training and nothing is
/// evaluated.
bool is_training_table(const StoredReproduction& reproduction);

/// One row a run, in the reproduction's order of methods, then seeds: each column's mean over the table's
/// window of updates. `window_unit`: "updates" or "epochs" in place of the spec's; empty: the spec's.
std::vector<TableRow> training_rows(Store& store, const StoredReproduction& reproduction,
                                    const std::string& window_unit = {});

/// What the window came to, as a sentence for the notes.
std::string window_note(const StoredReproduction& reproduction, const std::string& window_unit = {});

/// A column's values of two methods, paired by seed.
std::vector<PairedValue> seed_pairs(const std::vector<TableRow>& rows, const std::string& baseline,
                                    const std::string& method, const std::string& column);

/// Every method against the baseline, column by column.
std::vector<TableComparison> training_comparisons(const StoredReproduction& reproduction,
                                                  const std::vector<TableColumn>& columns,
                                                  const std::vector<TableRow>& rows);

/// Decides the paper's statements that the table's spec lists.
std::vector<TableClaim> decide_claims(const StoredReproduction& reproduction, const TableModel& model);

}  // namespace harness
