#include "results/query/format.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"
#include "core/text.h"
#include "results/query/format_cells.h"

namespace harness {
const std::vector<std::string>& query_format_names() {
  static const std::vector<std::string> names = {"table", "csv", "json", "jsonl", "md", "latex"};
  return names;
}

QueryFormat query_format(std::string_view name) {
  const auto& names = query_format_names();
  const auto found = std::ranges::find(names, name);
  if (found != names.end()) return static_cast<QueryFormat>(found - names.begin());
  const auto near = nearest(name, names);
  throw Error(fmt::format("unknown format \"{}\"", name), "--format",
              (near ? fmt::format("did you mean \"{}\"? ", *near) : "") + "known: " + join(names, ", "));
}

void write_rows(const ResultSet& rows, QueryFormat format, const TakePiece& take) {
  PieceWriter out(take);
  switch (format) {
    case QueryFormat::kTable:
      write_table(rows, out);
      break;
    case QueryFormat::kCsv:
      write_csv(rows, out);
      break;
    case QueryFormat::kJson:
      write_json(rows, out);
      break;
    case QueryFormat::kJsonl:
      write_jsonl(rows, out);
      break;
    case QueryFormat::kMarkdown:
      write_markdown(rows, out);
      break;
    case QueryFormat::kLatex:
      write_latex(rows, out);
      break;
  }
  out.hand_on();
}

}  // namespace harness
