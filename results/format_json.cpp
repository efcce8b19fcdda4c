#include "results/format_json.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "core/error.h"
#include "core/text.h"
#include "results/format.h"
#include "results/format_cells.h"

namespace harness {
namespace {

nlohmann::ordered_json json_value(const SqlValue& value, const std::string& column, std::size_t row) {
  const auto where = [&] { return fmt::format("column \"{}\", row {}", column, row + 1); };
  if (std::holds_alternative<std::monostate>(value)) return nullptr;
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return *integer;
  if (const auto* real = std::get_if<double>(&value)) {
    if (std::isfinite(*real)) return *real;
    throw Error("is infinite, which JSON cannot say", where(), "use --format csv", Status::kFailed);
  }
  const auto text = exact_text(value);
  if (const auto bad = invalid_utf8_at(text)) {
    throw Error(fmt::format("is not UTF-8 at byte {}, which JSON cannot say", *bad), where(),
                "wrap it in hex()", Status::kFailed);
  }
  return text;
}

}  // namespace

void require_distinct_columns(const ResultSet& rows) {
  std::set<std::string> seen;
  for (const auto& name : rows.columns) {
    if (seen.insert(name).second) continue;
    throw Error(fmt::format("two columns are named \"{}\"", name), "--format json",
                "give one of them another name with AS");
  }
}

std::string row_as_json_object(const ResultSet& rows, std::size_t row) {
  auto object = nlohmann::ordered_json::object();
  for (std::size_t i = 0; i < rows.columns.size(); ++i) {
    object[rows.columns[i]] = json_value(rows.rows[row][i], rows.columns[i], row);
  }
  return object.dump();
}

std::string rows_as_json(const ResultSet& rows) {
  require_distinct_columns(rows);
  std::string result = "[";
  for (std::size_t row = 0; row < rows.rows.size(); ++row) {
    result += (row > 0 ? ",\n " : "\n ") + row_as_json_object(rows, row);
  }
  return result + (rows.rows.empty() ? "]\n" : "\n]\n");
}

}  // namespace harness
