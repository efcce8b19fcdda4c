#include "results/query/format_json.h"

namespace harness {

void write_jsonl(const ResultSet& rows, PieceWriter& out) {
  const JsonRows objects(rows);
  for (std::size_t row = 0; row < rows.rows.size() && out.is_wanted(); ++row) {
    objects.write(row, out);
    out.add("\n");
  }
}

}  // namespace harness
