#include "results/format.h"
#include "results/format_json.h"

namespace harness {

std::string rows_as_jsonl(const ResultSet& rows) {
  require_distinct_columns(rows);
  std::string result;
  for (std::size_t row = 0; row < rows.rows.size(); ++row) result += row_as_json_object(rows, row) + "\n";
  return result;
}

}  // namespace harness
