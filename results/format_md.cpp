#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "core/text.h"
#include "results/format.h"
#include "results/format_cells.h"

namespace harness {
namespace {

/// Shows every character as itself: a cell holds text from prompts and transcripts, never markup. An
/// underscore inside a word means nothing in Markdown and stays readable.
std::string escaped(const std::string& text) {
  const auto is_word = [&](std::size_t i) {
    return i < text.size() && std::isalnum(static_cast<unsigned char>(text[i]));
  };
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\n') {
      result += "<br>";
      continue;
    }
    const bool inside_word = c == '_' && i > 0 && is_word(i - 1) && is_word(i + 1);
    if (c == '<') {
      result += "&lt;";
    } else if (c == '&') {
      result += "&amp;";
    } else {
      if (std::string_view("\\`*_[]|~").find(c) != std::string_view::npos && !inside_word) result += '\\';
      result += printable(std::string_view(&text[i], 1));
    }
  }
  return result;
}

}  // namespace

std::string rows_as_markdown(const ResultSet& rows) {
  std::vector<std::string> lines(rows.rows.size() + 2, "|");
  for (std::size_t column = 0; column < rows.columns.size(); ++column) {
    const bool right = is_numeric_column(rows, column);
    std::vector<std::string> cells = {escaped(rows.columns[column])};
    for (const auto& row : rows.rows) cells.push_back(escaped(short_text(row[column])));
    int width = 3;
    for (const auto& cell : cells) width = std::max(width, display_width(cell));
    lines[0] += fmt::format(" {} |", padded(cells[0], width, right));
    lines[1] += fmt::format(" {:-<{}}{} |", "", width - 1, right ? ':' : '-');
    for (std::size_t i = 1; i < cells.size(); ++i)
      lines[i + 1] += fmt::format(" {} |", padded(cells[i], width, right));
  }
  return join(lines, "\n") + "\n";
}

}  // namespace harness
