#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "results/query.h"

namespace harness {

enum class QueryFormat { kTable, kCsv, kJson, kJsonl, kMarkdown, kLatex };

/// The names that --format takes, in the order of the enum: table, csv, json, jsonl, md, latex.
const std::vector<std::string>& query_format_names();

/// Throws Error with the nearest name for any other.
QueryFormat query_format(std::string_view name);

/// The rows as a text that ends with a newline (empty for JSONL without rows). csv, json and jsonl carry
/// every digit of a number; table, md and latex show six. NULL is null in JSON and nothing elsewhere; a BLOB
/// is its hexadecimal digits.
std::string format_rows(const ResultSet& rows, QueryFormat format);

// One file each.
std::string rows_as_table(
    const ResultSet& rows);  ///< aligned columns for a terminal; control characters as \n, \x1b
std::string rows_as_csv(const ResultSet& rows);  ///< RFC 4180 with '\n'; an empty text is "", NULL is nothing
std::string rows_as_json(const ResultSet& rows);      ///< array of objects keyed by column, one a line
std::string rows_as_jsonl(const ResultSet& rows);     ///< one object a line
std::string rows_as_markdown(const ResultSet& rows);  ///< a GitHub table
std::string rows_as_latex(const ResultSet& rows);     ///< a tabular with booktabs rules

}  // namespace harness
