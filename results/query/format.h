#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "results/query/query.h"

namespace harness {

/// Columns of a terminal that a cell or a heading takes at most in `table` and `md`; longer ones end in "…".
constexpr int kWidestCell = 100;

/// Takes the next piece of a text; false if no more is wanted.
using TakePiece = std::function<bool(std::string_view)>;

enum class QueryFormat { kTable, kCsv, kJson, kJsonl, kMarkdown, kLatex };

/// The names that --format takes, in the order of the enum: table, csv, json, jsonl, md, latex.
std::vector<std::string> query_format_names();

/// Throws Error with the nearest name for any other.
QueryFormat query_format(std::string_view name);

/// The rows as a text that ends with a newline (nothing for JSONL without rows), handed on in pieces: beside
/// the rows no more than one piece and one value are in memory. csv, json and jsonl have every value whole
/// and every digit of a number; table, md and latex show six. table and md have GenEval targets in words.
/// NULL is null in JSON and nothing elsewhere; a BLOB is its hexadecimal digits. Throws Error before the
/// first piece where the format cannot say a value. `width`: of the terminal, to which `table` cuts long
/// texts; 0: none.
void write_rows(const ResultSet& rows, QueryFormat format, const TakePiece& take, int width = 0);

}  // namespace harness
