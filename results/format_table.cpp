#include <algorithm>

#include "core/text.h"
#include "results/format.h"
#include "results/format_cells.h"

namespace harness {

std::string rows_as_table(const ResultSet& rows) {
  std::vector<std::vector<std::string>> lines(rows.rows.size() + 1);
  for (const auto& name : rows.columns) lines[0].push_back(printable(name));
  for (std::size_t i = 0; i < rows.rows.size(); ++i) {
    for (const auto& value : rows.rows[i]) lines[i + 1].push_back(printable(short_text(value)));
  }
  std::vector<std::string> texts(lines.size());
  std::string rule;
  for (std::size_t column = 0; column < rows.columns.size(); ++column) {
    const bool last = column + 1 == rows.columns.size();
    const bool right = is_numeric_column(rows, column);
    int width = 0;
    for (const auto& line : lines) width = std::max(width, display_width(line[column]));
    for (std::size_t i = 0; i < lines.size(); ++i) {
      texts[i] += (column > 0 ? "  " : "") + padded(lines[i][column], last && !right ? 0 : width, right);
    }
    rule += (column > 0 ? "  " : "") + std::string(static_cast<std::size_t>(width), '-');
  }
  std::string result = texts[0] + "\n" + rule + "\n";
  for (std::size_t i = 1; i < texts.size(); ++i) {
    result.append(texts[i], 0, texts[i].find_last_not_of(' ') + 1);
    result += '\n';
  }
  return result;
}

}  // namespace harness
