#pragma once

#include <optional>
#include <string>
#include <vector>

#include "results/table/table_view.h"

namespace harness {

/// Means of one metric over the images of each tag of GenEval's prompts, and over the tags
/// (TableModel::by_tag).

/// The tags that the rows have images of, in the benchmark's order.
std::vector<std::string> tags_of(const TableModel& model);

/// The benchmark's overall figure: the unweighted mean of the tags' means. Nothing where a tag has none.
std::optional<double> overall_of(const TableRow& row);

/// A row a method, its seeds pooled. Without rows where the table shows nothing by tag.
ViewTable by_tag_view(const TableModel& model);

/// What the figures are, and that the paper has none; empty where there is no such table.
std::string by_tag_note(const TableModel& model);

}  // namespace harness
