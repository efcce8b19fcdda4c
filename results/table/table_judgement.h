#pragma once

#include <vector>

#include "results/table/table.h"

namespace harness {

/// Judges the comparisons of a table: one family, but for a method's differences to the baseline in a
/// leaderboard's metric. These are judged once, by the leaderboard's row: in its family, and as unresolved
/// where the row calls them neither better nor worse, as its verdict asks for more.
void judge_comparisons(TableModel& model);

/// Makes `whole` the table of all these: each shows the `columns` and comparisons that it has now, and the
/// claims of all are one family for Holm. There must be one or more.
void put_together(TableModel& whole, std::vector<TableModel> parts);

}  // namespace harness
