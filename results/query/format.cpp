#include "results/query/format.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/algorithm/string/replace.hpp>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "core/error.h"
#include "core/geneval/target.h"
#include "core/text.h"
#include "results/table/markup.h"

namespace harness {
namespace {

/// Text on its way out: collected, and handed on whenever there is enough of it.
class PieceWriter {
 public:
  explicit PieceWriter(const TakePiece& take) : take_(take) {}
  PieceWriter(const PieceWriter&) = delete;
  PieceWriter& operator=(const PieceWriter&) = delete;

  PieceWriter& add(std::string_view text) {
    constexpr std::size_t kPiece = 1 << 16;
    while (pending_.size() + text.size() >= kPiece) {
      const auto rest = kPiece - pending_.size();
      pending_ += text.substr(0, rest);
      text.remove_prefix(rest);
      hand_on();
    }
    pending_ += text;
    return *this;
  }
  void hand_on() {
    wanted_ = wanted_ && take_(pending_);
    pending_.clear();
  }
  bool is_wanted() const { return wanted_; }

 private:
  const TakePiece& take_;
  std::string pending_;
  bool wanted_ = true;
};

// Cells

enum class Digits {
  kShort,  ///< six, for reading
  kExact   ///< the fewest that read back as the same number
};

/// A value as a text: NULL is none, a BLOB its hexadecimal digits.
std::string text_of(const SqlValue& value, Digits digits) {
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return fmt::to_string(*integer);
  if (const auto* real = std::get_if<double>(&value))
    return digits == Digits::kShort ? fmt::format("{:.6g}", *real) : fmt::format("{}", *real);
  if (const auto* blob = std::get_if<Blob>(&value)) return hexadecimal(blob->bytes);
  const auto* text = std::get_if<std::string>(&value);
  return text == nullptr ? "" : *text;
}

using Shown = std::string (*)(std::string_view);

/// What `table` and `md` show of a value or a heading, as `shown` writes it: a GenEval target in words (no
/// query says which of its columns are targets, so any text that is a record), and a
/// text that takes more than kWidestCell columns cut, with "…" at its end.
std::string short_cell(const SqlValue& value, Shown shown) {
  std::string made;
  if (const auto* blob = std::get_if<Blob>(&value))
    made = hexadecimal(std::string_view(blob->bytes).substr(0, kWidestCell));
  else if (const auto* stored = std::get_if<std::string>(&value))
    made = Target::of_record("", *stored).shown();
  else
    made = text_of(value, Digits::kShort);
  return shown(cut_to_width(made, kWidestCell));
}

/// True if all values of a column are numbers or NULL: such a column is aligned right.
bool is_numeric_column(const ResultSet& rows, std::size_t column) {
  return std::ranges::all_of(rows.rows, [&](const auto& row) {
    const auto& value = row[column];
    return std::holds_alternative<std::int64_t>(value) || std::holds_alternative<double>(value) ||
           std::holds_alternative<std::monostate>(value);
  });
}

/// The headings as a line, `rule`, and a line for each row as long as one is wanted. write_line takes either.
template <class WriteLine>
void write_lines(const ResultSet& rows, std::string_view rule, PieceWriter& out,
                 const WriteLine& write_line) {
  write_line(rows.columns);
  out.add(rule);
  for (const auto& row : rows.rows) {
    if (!out.is_wanted()) return;
    write_line(row);
  }
}

// Formats

struct Columns {
  std::vector<int> widths;
  std::vector<bool> right;  ///< aligned so
};

/// Columns with room for their headings and cells.
Columns columns_of(const ResultSet& rows, int narrowest, Shown shown) {
  Columns columns;
  for (std::size_t i = 0; i < rows.columns.size(); ++i) {
    int width = std::max(narrowest, display_width(short_cell(rows.columns[i], shown)));
    for (const auto& row : rows.rows) width = std::max(width, display_width(short_cell(row[i], shown)));
    columns.widths.push_back(width);
    columns.right.push_back(is_numeric_column(rows, i));
  }
  return columns;
}

/// A cell holds text from prompts and transcripts, never markup.
std::string markdown_cell(std::string_view text) {
  auto cell = markdown_text(printable(text));
  boost::replace_all(cell, "\n", "<br>");
  boost::replace_all(cell, "\t", "\\t");
  return cell;
}

/// Aligned columns for a terminal.
void write_table(const ResultSet& rows, PieceWriter& out, int width) {
  constexpr int kBetween = 2, kLeast = 14;
  auto columns = columns_of(rows, 0, printable_line);
  auto& widths = columns.widths;
  auto may_shrink = columns.right;
  may_shrink.flip();
  if (width > 0) widths = fitted_widths(widths, may_shrink, kBetween, width, kLeast);
  const auto line_of = [&](const auto& cell) {
    std::string line;
    for (std::size_t i = 0; i < widths.size(); ++i) line += (i > 0 ? "  " : "") + cell(i);
    line.erase(line.find_last_not_of(' ') + 1);
    return line + "\n";
  };
  const auto dashes = [&](std::size_t i) { return fmt::format("{:-<{}}", "", widths[i]); };
  write_lines(rows, line_of(dashes), out, [&](const auto& values) {
    out.add(line_of([&](std::size_t i) {
      return padded(cut_to_width(short_cell(values[i], printable_line), widths[i]), widths[i],
                    columns.right[i]);
    }));
  });
}

/// A GitHub table.
void write_markdown(const ResultSet& rows, PieceWriter& out, int /*width*/) {
  const auto [widths, right] = columns_of(rows, 3, markdown_cell);
  const auto row_of = [&](const auto& cell) {
    std::vector<std::string> cells;
    for (std::size_t i = 0; i < rows.columns.size(); ++i) cells.push_back(cell(i));
    return markdown_row(cells);
  };
  const auto dashes = [&](std::size_t i) {
    return fmt::format("{:-<{}}{}", "", widths[i] - 1, right[i] ? ':' : '-');
  };
  write_lines(rows, row_of(dashes), out, [&](const auto& values) {
    out.add(row_of(
        [&](std::size_t i) { return padded(short_cell(values[i], markdown_cell), widths[i], right[i]); }));
  });
}

/// Quoted, too, where a reader might take a text for none or cut its blanks off.
std::string csv_cell(const SqlValue& value) {
  if (std::holds_alternative<std::monostate>(value)) return "";
  const auto text = text_of(value, Digits::kExact);
  const bool is_bare = !text.empty() && text.front() != ' ' && text.back() != ' ';
  return is_bare ? csv_field(text) : csv_quoted(text);
}

/// RFC 4180 with '\n'; an empty text is "".
void write_csv(const ResultSet& rows, PieceWriter& out, int /*width*/) {
  write_lines(rows, "", out, [&](const auto& values) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      out.add(i > 0 ? "," : "").add(csv_cell(values[i]));
    }
    out.add("\n");
  });
}

/// The inside of a JSON string. Characters that command a terminal are written as escapes (core/text.h).
std::string json_escaped(std::string_view text) {
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
        throw Error("is infinite, which JSON cannot express", where(), "use --format csv", Status::kFailed);
      const auto* text = std::get_if<std::string>(&value);
      if (const auto bad = text == nullptr ? std::nullopt : invalid_utf8_at(*text)) {
        throw Error(fmt::format("is not UTF-8 at byte {}, which JSON cannot express", *bad), where(),
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
  } else if (const auto* text = std::get_if<std::string>(&value)) {
    out.add("\"").add(json_escaped(*text)).add("\"");  // up to six times as long: no copies of it
  } else {
    const auto plain = text_of(value, Digits::kExact);
    std::holds_alternative<Blob>(value) ? out.add("\"").add(plain).add("\"") : out.add(plain);
  }
}

/// A row as a compact object, its keys in the order of the columns: `first` before the first, `next` before
/// the others.
void write_objects(const ResultSet& rows, const char* first, const char* next, PieceWriter& out) {
  require_sayable(rows);
  std::vector<std::string> keys;
  for (const auto& name : rows.columns) keys.push_back(fmt::format("\"{}\":", json_escaped(name)));
  for (std::size_t row = 0; row < rows.rows.size() && out.is_wanted(); ++row) {
    out.add(row > 0 ? next : first).add("{");
    for (std::size_t i = 0; i < keys.size(); ++i) {
      out.add(i > 0 ? "," : "").add(keys[i]);
      write_value(rows.rows[row][i], out);
    }
    out.add("}");
  }
}

/// Array of objects keyed by column, one per line.
void write_json(const ResultSet& rows, PieceWriter& out, int /*width*/) {
  out.add("[");
  write_objects(rows, "\n ", ",\n ", out);
  out.add(rows.rows.empty() ? "]\n" : "\n]\n");
}

/// One object a line.
void write_jsonl(const ResultSet& rows, PieceWriter& out, int /*width*/) {
  write_objects(rows, "", "\n", out);
  out.add(rows.rows.empty() ? "" : "\n");
}

std::string latex_cell(const SqlValue& value) {
  const auto text = text_of(value, Digits::kShort);
  return latex_text(invalid_utf8_at(text) ? printable(text) : text);
}

/// A tabular with booktabs rules.
void write_latex(const ResultSet& rows, PieceWriter& out, int /*width*/) {
  std::string alignment;
  for (std::size_t column = 0; column < rows.columns.size(); ++column)
    alignment += is_numeric_column(rows, column) ? 'r' : 'l';
  out.add("% needs \\usepackage{booktabs}\n\\begin{tabular}{" + alignment + "}\n\\toprule\n");
  write_lines(rows, "\\midrule\n", out, [&](const auto& values) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      out.add(i > 0 ? " & " : "").add(latex_cell(values[i]));
    }
    out.add(" \\\\\n");
  });
  out.add("\\bottomrule\n\\end{tabular}\n");
}

struct Writer {
  const char* name;
  void (*write)(const ResultSet&, PieceWriter&, int);
};

/// In the order of QueryFormat.
constexpr Writer kWriters[] = {{"table", write_table}, {"csv", write_csv},     {"json", write_json},
                               {"jsonl", write_jsonl}, {"md", write_markdown}, {"latex", write_latex}};

}  // namespace

std::vector<std::string> query_format_names() {
  std::vector<std::string> names;
  for (const auto& writer : kWriters) names.emplace_back(writer.name);
  return names;
}

QueryFormat query_format(std::string_view name) {
  const auto names = query_format_names();
  const auto found = std::ranges::find(names, name);
  if (found != names.end()) return static_cast<QueryFormat>(found - names.begin());
  const auto near = nearest(name, names);
  throw Error(fmt::format("unknown format \"{}\"", name), "--format",
              (near ? fmt::format("did you mean \"{}\"? ", *near) : "") + "known: " + join(names, ", "));
}

void write_rows(const ResultSet& rows, QueryFormat format, const TakePiece& take, int width) {
  PieceWriter out(take);
  kWriters[static_cast<std::size_t>(format)].write(rows, out, width);
  out.hand_on();
}

}  // namespace harness
