#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "core/text.h"
#include "results/query/format.h"

namespace harness {
namespace {

using Shown = std::string (*)(std::string_view);

struct Column {
  int width = 0;
  bool right = false;
};

/// Columns with room for their headings and cells.
std::vector<Column> columns_of(const ResultSet& rows, int narrowest, Shown shown) {
  std::vector<Column> columns;
  for (std::size_t i = 0; i < rows.columns.size(); ++i) {
    int width = std::max(narrowest, display_width(short_cell(rows.columns[i], shown)));
    for (const auto& row : rows.rows) width = std::max(width, display_width(short_cell(row[i], shown)));
    columns.push_back({width, is_numeric_column(rows, i)});
  }
  return columns;
}

/// Padded with blanks to the column's width.
std::string padded(const std::string& text, const Column& column) {
  const std::string blanks(static_cast<std::size_t>(std::max(0, column.width - display_width(text))), ' ');
  return column.right ? blanks + text : text + blanks;
}

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

void write_table(const ResultSet& rows, PieceWriter& out) {
  const auto columns = columns_of(rows, 0, printable_line);
  const auto line_of = [&](const auto& cell) {
    std::string line;
    for (std::size_t i = 0; i < columns.size(); ++i) line += (i > 0 ? "  " : "") + cell(i);
    line.erase(line.find_last_not_of(' ') + 1);
    return line + "\n";
  };
  const auto dashes = [&](std::size_t i) {
    return std::string(static_cast<std::size_t>(columns[i].width), '-');
  };
  write_lines(rows, line_of(dashes), out, [&](const auto& values) {
    out.add(
        line_of([&](std::size_t i) { return padded(short_cell(values[i], printable_line), columns[i]); }));
  });
}

void write_markdown(const ResultSet& rows, PieceWriter& out) {
  const auto columns = columns_of(rows, 3, escaped);
  std::string rule = "|";
  for (const auto& [width, right] : columns)
    rule += fmt::format(" {:-<{}}{} |", "", width - 1, right ? ':' : '-');
  write_lines(rows, rule + "\n", out, [&](const auto& values) {
    out.add("|");
    for (std::size_t i = 0; i < columns.size(); ++i)
      out.add(" ").add(padded(short_cell(values[i], escaped), columns[i])).add(" |");
    out.add("\n");
  });
}

}  // namespace harness
