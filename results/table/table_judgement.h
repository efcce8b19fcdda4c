#pragma once

#include <vector>

#include "results/table/table.h"

namespace harness {

/// Makes every comparison of a table a question of its families, as a plan of them alone does.
void ask_all(const FamilyRoles& roles, TableModel& model);

/// Judges the comparisons of a table by its families.
void judge_comparisons(TableModel& model);

/// Of a method's differences to the baseline in a leaderboard's metric nothing is resolved that its row calls
/// neither better nor worse, as its verdict asks for more.
void heed_leaderboard(TableModel& model);

/// Makes `whole` the table of all these: each shows the `columns` and comparisons that it has now, and the
/// claims of all are one family. There must be one or more.
void put_together(TableModel& whole, std::vector<TableModel> parts);

}  // namespace harness
