#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "core/error.h"
#include "core/text.h"
#include "results/query/format.h"

namespace harness {
namespace {

/// The inside of a JSON string. Characters that command a terminal are written as escapes (core/text.h).
std::string escaped(std::string_view text) {
  const auto quoted = nlohmann::json(std::string(text)).dump();
  return printable(std::string_view(quoted).substr(1, quoted.size() - 2));
}

/// Throws Error for two columns of one name, an infinite number, a text that is not UTF-8.
void require_sayable(const ResultSet& rows) {
  std::set<std::string> seen;
  for (const auto& name : rows.columns) {
    if (invalid_utf8_at(name))
      throw Error("the name of a column is not UTF-8", "--format json", "give it another name with AS");
    if (seen.insert(name).second) continue;
    throw Error(fmt::format("two columns are named \"{}\"", name), "--format json",
                "give one of them another name with AS");
  }
  for (std::size_t row = 0; row < rows.rows.size(); ++row) {
    for (std::size_t i = 0; i < rows.columns.size(); ++i) {
      const auto& value = rows.rows[row][i];
      const auto where = [&] { return fmt::format("column \"{}\", row {}", rows.columns[i], row + 1); };
      if (const auto* real = std::get_if<double>(&value); real != nullptr && !std::isfinite(*real))
        throw Error("is infinite, which JSON cannot say", where(), "use --format csv", Status::kFailed);
      const auto* text = std::get_if<std::string>(&value);
      if (const auto bad = text == nullptr ? std::nullopt : invalid_utf8_at(*text)) {
        throw Error(fmt::format("is not UTF-8 at byte {}, which JSON cannot say", *bad), where(),
                    "wrap it in hex()", Status::kFailed);
      }
    }
  }
}

void write_value(const SqlValue& value, PieceWriter& out) {
  if (std::holds_alternative<std::monostate>(value)) {
    out.add("null");
  } else if (const auto* real = std::get_if<double>(&value)) {
    out.add(nlohmann::json(*real).dump());
  } else if (std::holds_alternative<std::int64_t>(value)) {
    in_pieces(value, Digits::kExact, [&](std::string_view text) { out.add(text); });
  } else {
    out.add("\"");
    in_pieces(value, Digits::kExact, [&](std::string_view text) { out.add(escaped(text)); });
    out.add("\"");
  }
}

/// A row as a compact object, its keys in the order of the columns: `first` before the first, `next` before
/// the others.
void write_objects(const ResultSet& rows, const char* first, const char* next, PieceWriter& out) {
  require_sayable(rows);
  std::vector<std::string> keys;
  for (const auto& name : rows.columns) keys.push_back(fmt::format("\"{}\":", escaped(name)));
  for (std::size_t row = 0; row < rows.rows.size() && out.is_wanted(); ++row) {
    out.add(row > 0 ? next : first).add("{");
    for (std::size_t i = 0; i < keys.size(); ++i) {
      out.add(i > 0 ? "," : "").add(keys[i]);
      write_value(rows.rows[row][i], out);
    }
    out.add("}");
  }
}

}  // namespace

void write_json(const ResultSet& rows, PieceWriter& out) {
  out.add("[");
  write_objects(rows, "\n ", ",\n ", out);
  out.add(rows.rows.empty() ? "]\n" : "\n]\n");
}

void write_jsonl(const ResultSet& rows, PieceWriter& out) {
  write_objects(rows, "", "\n", out);
  out.add(rows.rows.empty() ? "" : "\n");
}

}  // namespace harness
