#pragma once

#include <string>
#include <vector>

#include "results/table/table.h"

namespace harness {

/// Every note of a table, by place: those of its tasks, once where all have them, and its guardrails'.
std::vector<TableNote> table_notes(const TableModel& model);

// What they are put together from, of a table of one task. A note that has nothing to say has no text.

/// On the results and on how they were made.
std::vector<TableNote> result_notes(const TableModel& model);

/// What groups and verdicts mean, and how the rows were compared at equal evaluations.
std::vector<TableNote> leaderboard_notes(const TableModel& model);

/// What differences are, how they are judged and what single ones call for.
std::vector<TableNote> difference_notes(const TableModel& model);

/// What there is to watch, or that no alarm was raised; how effects are judged.
std::vector<TableNote> guardrail_notes(const TableModel& model);

/// What the figures by tag are; empty where there are none.
std::string by_tag_note(const TableModel& model);

/// The items between `before` and `after`; empty without any.
std::string listed(const std::string& before, const std::vector<std::string>& items,
                   const char* separator = ", ", const char* after = ".");

}  // namespace harness
