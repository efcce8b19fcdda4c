#include "results/format.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"
#include "core/text.h"
#include "results/format_cells.h"

namespace harness {
namespace {

std::string hexadecimal(std::string_view bytes) {
  std::string text;
  text.reserve(2 * bytes.size());
  for (const char c : bytes) text += fmt::format("{:02x}", static_cast<unsigned char>(c));
  return text;
}

std::string text_of(const SqlValue& value, const char* real_format) {
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return std::to_string(*integer);
  if (const auto* real = std::get_if<double>(&value)) return fmt::format(fmt::runtime(real_format), *real);
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  if (const auto* blob = std::get_if<Blob>(&value)) return hexadecimal(blob->bytes);
  return "";
}

}  // namespace

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

std::string format_rows(const ResultSet& rows, QueryFormat format) {
  switch (format) {
    case QueryFormat::kTable:
      return rows_as_table(rows);
    case QueryFormat::kCsv:
      return rows_as_csv(rows);
    case QueryFormat::kJson:
      return rows_as_json(rows);
    case QueryFormat::kJsonl:
      return rows_as_jsonl(rows);
    case QueryFormat::kMarkdown:
      return rows_as_markdown(rows);
    case QueryFormat::kLatex:
      return rows_as_latex(rows);
  }
  return "";
}

std::string short_text(const SqlValue& value) {
  return text_of(value, "{:.6g}");
}

std::string exact_text(const SqlValue& value) {
  return text_of(value, "{}");
}

bool is_numeric_column(const ResultSet& rows, std::size_t column) {
  return std::ranges::all_of(rows.rows, [&](const auto& row) {
    const auto& value = row[column];
    return std::holds_alternative<std::int64_t>(value) || std::holds_alternative<double>(value) ||
           std::holds_alternative<std::monostate>(value);
  });
}

std::string printable(std::string_view text) {
  std::string result;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '\n') {
      result += "\\n";
    } else if (c == '\t') {
      result += "\\t";
    } else if (byte < 0x20 || byte == 0x7f) {
      result += fmt::format("\\x{:02x}", byte);
    } else {
      result += c;
    }
  }
  return result;
}

std::string padded(const std::string& text, int width, bool right) {
  const std::string blanks(static_cast<std::size_t>(std::max(0, width - display_width(text))), ' ');
  return right ? blanks + text : text + blanks;
}

}  // namespace harness
