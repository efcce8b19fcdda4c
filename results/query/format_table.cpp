#include <algorithm>

#include "core/text.h"
#include "results/query/format_cells.h"

namespace harness {

void write_table(const ResultSet& rows, PieceWriter& out) {
  const auto count = rows.columns.size();
  std::vector<int> widths;
  std::vector<bool> right;
  for (std::size_t column = 0; column < count; ++column) {
    int width = display_width(short_cell(rows.columns[column], printable_line));
    for (const auto& row : rows.rows)
      width = std::max(width, display_width(short_cell(row[column], printable_line)));
    widths.push_back(width);
    right.push_back(is_numeric_column(rows, column));
  }
  const auto write_line = [&](const auto& values, const auto& text_of) {
    std::string line;
    for (std::size_t i = 0; i < count; ++i)
      line += (i > 0 ? "  " : "") + padded(text_of(values[i]), widths[i], right[i]);
    line.erase(line.find_last_not_of(' ') + 1);
    out.add(line).add("\n");
  };
  const auto cell = [](const SqlValue& value) { return short_cell(value, printable_line); };
  write_line(rows.columns, cell);
  write_line(widths, [](int width) { return std::string(static_cast<std::size_t>(width), '-'); });
  for (const auto& row : rows.rows) {
    if (!out.is_wanted()) return;
    write_line(row, cell);
  }
}

}  // namespace harness
