#include "core/text.h"
#include "results/format.h"
#include "results/format_cells.h"

namespace harness {
namespace {

std::string escaped(const std::string& text) {
  std::string result;
  for (const char c : text) {
    switch (c) {
      case '\\':
        result += "\\textbackslash{}";
        break;
      case '~':
        result += "\\textasciitilde{}";
        break;
      case '^':
        result += "\\textasciicircum{}";
        break;
      case '<':
        result += "\\textless{}";
        break;
      case '>':
        result += "\\textgreater{}";
        break;
      case '"':
        result += "\\textquotedbl{}";
        break;
      case '&':
      case '%':
      case '$':
      case '#':
      case '_':
      case '{':
      case '}':
        result += '\\';
        result += c;
        break;
      case '\n':
        result += ' ';
        break;
      default:
        if (static_cast<unsigned char>(c) >= 0x20) result += c;
    }
  }
  return result;
}

}  // namespace

std::string rows_as_latex(const ResultSet& rows) {
  std::string alignment;
  std::vector<std::string> header;
  for (std::size_t column = 0; column < rows.columns.size(); ++column) {
    alignment += is_numeric_column(rows, column) ? 'r' : 'l';
    header.push_back(escaped(rows.columns[column]));
  }
  std::string result = "% needs \\usepackage{booktabs} and \\usepackage[T1]{fontenc}\n\\begin{tabular}{" +
                       alignment + "}\n\\toprule\n" + join(header, " & ") + " \\\\\n\\midrule\n";
  for (const auto& row : rows.rows) {
    std::vector<std::string> cells;
    for (const auto& value : row) cells.push_back(escaped(short_text(value)));
    result += join(cells, " & ") + " \\\\\n";
  }
  return result + "\\bottomrule\n\\end{tabular}\n";
}

}  // namespace harness
