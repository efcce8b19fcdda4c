#include "core/text.h"
#include "results/query/format.h"
#include "results/table/markup.h"

namespace harness {
namespace {

void write_cell(const SqlValue& value, PieceWriter& out) {
  LatexText latex;
  in_pieces(value, Digits::kShort, [&](std::string_view piece) {
    out.add(latex.next(invalid_utf8_at(piece) ? printable(piece) : std::string(piece)));
  });
}

}  // namespace

void write_latex(const ResultSet& rows, PieceWriter& out) {
  std::string alignment;
  for (std::size_t column = 0; column < rows.columns.size(); ++column)
    alignment += is_numeric_column(rows, column) ? 'r' : 'l';
  out.add("% needs \\usepackage{booktabs}\n\\begin{tabular}{" + alignment + "}\n\\toprule\n");
  write_lines(rows, "\\midrule\n", out, [&](const auto& values) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (i > 0) out.add(" & ");
      write_cell(values[i], out);
    }
    out.add(" \\\\\n");
  });
  out.add("\\bottomrule\n\\end{tabular}\n");
}

}  // namespace harness
