#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "core/text.h"
#include "results/query/format_cells.h"

namespace harness {
namespace {

/// Shows every character as itself: a cell holds text from prompts and transcripts, never markup. An
/// underscore inside a word means nothing in Markdown and stays readable.
std::string escaped(std::string_view given) {
  const auto text = printable(given);
  const auto is_word = [&](std::size_t i) {
    return i < text.size() && std::isalnum(static_cast<unsigned char>(text[i]));
  };
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool inside_word = c == '_' && i > 0 && is_word(i - 1) && is_word(i + 1);
    if (c == '\n') {
      result += "<br>";
    } else if (c == '\t') {
      result += "\\t";
    } else if (c == '<') {
      result += "&lt;";
    } else if (c == '&') {
      result += "&amp;";
    } else {
      if (std::string_view("\\`*_[]|~").find(c) != std::string_view::npos && !inside_word) result += '\\';
      result += c;
    }
  }
  return result;
}

}  // namespace

void write_markdown(const ResultSet& rows, PieceWriter& out) {
  const auto count = rows.columns.size();
  std::vector<int> widths;
  std::vector<bool> right;
  for (std::size_t column = 0; column < count; ++column) {
    int width = std::max(3, display_width(short_cell(rows.columns[column], escaped)));
    for (const auto& row : rows.rows)
      width = std::max(width, display_width(short_cell(row[column], escaped)));
    widths.push_back(width);
    right.push_back(is_numeric_column(rows, column));
  }
  const auto write_line = [&](const auto& values) {
    out.add("|");
    for (std::size_t i = 0; i < count; ++i)
      out.add(" ").add(padded(short_cell(values[i], escaped), widths[i], right[i])).add(" |");
    out.add("\n");
  };
  write_line(rows.columns);
  out.add("|");
  for (std::size_t i = 0; i < count; ++i)
    out.add(fmt::format(" {:-<{}}{} |", "", widths[i] - 1, right[i] ? ':' : '-'));
  out.add("\n");
  for (const auto& row : rows.rows) {
    if (!out.is_wanted()) return;
    write_line(row);
  }
}

}  // namespace harness
