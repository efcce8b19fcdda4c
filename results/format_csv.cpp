#include "results/format.h"
#include "results/format_cells.h"

namespace harness {
namespace {

std::string csv_quoted(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"') result += '"';
    result += c;
  }
  return result + '"';
}

std::string field(const std::string& text) {
  const bool plain = !text.empty() && text.find_first_of("\",\r\n") == std::string::npos &&
                     text.front() != ' ' && text.back() != ' ';
  return plain ? text : csv_quoted(text);
}

}  // namespace

std::string rows_as_csv(const ResultSet& rows) {
  std::string result;
  for (std::size_t i = 0; i < rows.columns.size(); ++i) {
    if (i > 0) result += ',';
    result += field(rows.columns[i]);
  }
  result += '\n';
  for (const auto& row : rows.rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (i > 0) result += ',';
      if (!std::holds_alternative<std::monostate>(row[i])) result += field(exact_text(row[i]));
    }
    result += '\n';
  }
  return result;
}

}  // namespace harness
