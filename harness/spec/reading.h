#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/json.h"
#include "harness/spec/table_spec.h"
#include "harness/terminal/output.h"

// Parts of reading a table's document that several files of this folder need.

namespace harness {

template <class T>
void require_distinct(const std::vector<T>& values, const std::string& what, const std::string& where) {
  refuse_unless(std::set<T>(values.begin(), values.end()).size() == values.size(), what + " must differ",
                where);
}

/// The field under `key` where there is one; else `into` stays as it is.
template <class T>
void read(Fields& fields, const std::string& key, T& into) {
  into = fields.optional<T>(key, std::move(into));
}
template <class T>
void read(Fields& fields, const std::string& key, std::optional<T>& into) {
  if (fields.has(key)) into = fields.required<T>(key);
}

inline void read_settings(Fields& fields, Json& into) {
  read(fields, "settings", into);
  refuse_unless(into.is_object(), "must be an object", fields.where() + ": settings");
}

/// A list of numbers, none of which may have a fraction.
template <class T>
std::vector<T> whole_numbers(Fields& fields, const std::string& key) {
  const Json& list = fields.get(key);
  refuse_unless(
      list.is_array() && std::ranges::all_of(list, [](const Json& e) { return e.is_number_integer(); }),
      "must be a list of whole numbers", fields.where() + ": " + key);
  return list.get<std::vector<T>>();
}

std::vector<int> read_checkpoints(Fields& fields);
int read_prompts_first(Fields& fields, int fewest = 2);
/// {"seed": S, "take": K} or {"first": K}
SplitRule read_split(Fields fields);
/// Where nothing is selected, as all rows are images of one checkpoint, every prompt may be for test.
void require_two_splits(const SplitRule& rule, int prompts, bool selects, const std::string& where);
/// The same of a table's own rule and rows.
void check_selection_split(const TableSpec& spec);

/// The columns of the document, by what the table's catalogue knows of metrics. `source`: where it is from.
void read_columns(TableSpec& spec, const Json& columns, SpecSource source = SpecSource::kFile);
/// Columns that belong to a checkpoint rather than to a metric.
const std::vector<MetricInfo>& checkpoint_columns();
/// One of them or of a budget; nullptr for every other name.
const MetricInfo* of_checkpoint(const std::string& column);

void read_rows(TableSpec& spec, const Json& rows, const std::string& where);
/// "tuning": runs spent to choose the settings of each method, one number for all rows or one per row.
void read_tuning(TableSpec& spec, Fields& fields);
void read_claims(TableSpec& spec, const Json& claims, const std::string& where);
void read_backbones(TableSpec& spec, Fields fields);

/// Checks of a table as a whole. Throws Error.
void check_whole(const TableSpec& spec);
/// The only rule takes the checkpoint of the highest mean.
void require_selectable(const TableSpec& spec);

/// No text and no list of a table may be so long that planning, printing or typesetting it never ends.
void check_sizes(const Json& value, const std::string& where);
/// What every table states itself, or has from the table that it extends.
void require_head(const Fields& fields);

}  // namespace harness
