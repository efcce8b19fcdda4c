#include "results/query/format_json.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "core/error.h"
#include "core/text.h"

namespace harness {
namespace {

/// What a byte of a text is in JSON: itself, or an escape.
std::array<std::string, 256> make_escapes() {
  std::array<std::string, 256> escapes;
  for (int byte = 0; byte < 256; ++byte) {
    const auto c = static_cast<char>(byte);
    escapes[static_cast<std::size_t>(byte)] =
        byte < 0x20 || c == '"' || c == '\\' ? nlohmann::json(std::string(1, c)).dump() : std::string(1, c);
    auto& escape = escapes[static_cast<std::size_t>(byte)];
    if (escape.size() > 1) escape = escape.substr(1, escape.size() - 2);
  }
  return escapes;
}

/// The inside of a JSON string. Characters that command a terminal are written as escapes (core/text.h).
std::string escaped(std::string_view text) {
  static const auto kEscapes = make_escapes();
  std::string out;
  out.reserve(text.size());
  for (const char c : text) out += kEscapes[static_cast<unsigned char>(c)];
  return printable(out);
}

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

}  // namespace

JsonRows::JsonRows(const ResultSet& rows) : rows_(rows) {
  require_sayable(rows);
  for (const auto& name : rows.columns) keys_.push_back('"' + escaped(name) + "\":");
}

void JsonRows::write(std::size_t row, PieceWriter& out) const {
  out.add("{");
  for (std::size_t i = 0; i < keys_.size(); ++i) {
    out.add(i > 0 ? "," : "").add(keys_[i]);
    write_value(rows_.rows[row][i], out);
  }
  out.add("}");
}

void write_json(const ResultSet& rows, PieceWriter& out) {
  const JsonRows objects(rows);
  out.add("[");
  for (std::size_t row = 0; row < rows.rows.size() && out.is_wanted(); ++row) {
    out.add(row > 0 ? ",\n " : "\n ");
    objects.write(row, out);
  }
  out.add(rows.rows.empty() ? "]\n" : "\n]\n");
}

}  // namespace harness
