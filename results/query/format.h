#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "results/query/query.h"

namespace harness {

/// Columns of a terminal that a cell or a heading takes at most in `table` and `md`; longer ones end in "…".
constexpr int kWidestCell = 100;

/// Takes the next piece of a text; false if no more is wanted.
using TakePiece = std::function<bool(std::string_view)>;

enum class QueryFormat { kTable, kCsv, kJson, kJsonl, kMarkdown, kLatex };

/// The names that --format takes, in the order of the enum: table, csv, json, jsonl, md, latex.
std::vector<std::string> query_format_names();

/// Throws Error with the nearest name for any other.
QueryFormat query_format(std::string_view name);

/// The rows as a text that ends with a newline (nothing for JSONL without rows), handed on in pieces: beside
/// the rows no more than one piece is in memory. csv, json and jsonl have every value whole and every digit
/// of a number; table, md and latex show six. NULL is null in JSON and nothing elsewhere; a BLOB is its
/// hexadecimal digits. Throws Error before the first piece where the format cannot say a value.
void write_rows(const ResultSet& rows, QueryFormat format, const TakePiece& take);

// What the formats are made of

/// Text on its way out: collected, and handed on whenever there is enough of it.
class PieceWriter {
 public:
  explicit PieceWriter(const TakePiece& take) : take_(take) {}
  PieceWriter(const PieceWriter&) = delete;
  PieceWriter& operator=(const PieceWriter&) = delete;

  PieceWriter& add(std::string_view text);
  void hand_on();
  bool is_wanted() const { return wanted_; }

 private:
  const TakePiece& take_;
  std::string pending_;
  bool wanted_ = true;
};

void write_table(const ResultSet& rows, PieceWriter& out);  ///< aligned columns for a terminal
void write_csv(const ResultSet& rows, PieceWriter& out);    ///< RFC 4180 with '\n'; an empty text is ""
void write_json(const ResultSet& rows, PieceWriter& out);   ///< array of objects keyed by column, one a line
void write_jsonl(const ResultSet& rows, PieceWriter& out);  ///< one object a line
void write_markdown(const ResultSet& rows, PieceWriter& out);  ///< a GitHub table
void write_latex(const ResultSet& rows, PieceWriter& out);     ///< a tabular with booktabs rules

enum class Digits {
  kShort,  ///< six, for reading
  kExact   ///< the fewest that read back as the same number
};

/// The text of a value in pieces that end between characters: NULL is none, a BLOB its hexadecimal digits.
void in_pieces(const SqlValue& value, Digits digits, const std::function<void(std::string_view)>& take);

/// What `table` and `md` show of a value or a heading, as `shown` writes it: a text that takes more than
/// kWidestCell columns is cut and ends in "…".
std::string short_cell(const SqlValue& value, std::string (*shown)(std::string_view));

/// True if all values of a column are numbers or NULL: such a column is aligned right.
bool is_numeric_column(const ResultSet& rows, std::size_t column);

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

}  // namespace harness
