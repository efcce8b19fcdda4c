#include "results/query/format.h"

namespace harness {
namespace {

bool is_plain(std::string_view text) {
  return !text.empty() && text.find_first_of("\",\r\n") == std::string_view::npos && text.front() != ' ' &&
         text.back() != ' ';
}

void write_field(const SqlValue& value, PieceWriter& out) {
  const auto* text = std::get_if<std::string>(&value);
  const auto* blob = std::get_if<Blob>(&value);
  const bool quoted = (text != nullptr && !is_plain(*text)) || (blob != nullptr && blob->bytes.empty());
  if (quoted) out.add("\"");
  in_pieces(value, Digits::kExact, [&](std::string_view piece) {
    for (auto quote = piece.find('"'); quoted && quote != std::string_view::npos; quote = piece.find('"')) {
      out.add(piece.substr(0, quote + 1)).add("\"");
      piece.remove_prefix(quote + 1);
    }
    out.add(piece);
  });
  if (quoted) out.add("\"");
}

}  // namespace

void write_csv(const ResultSet& rows, PieceWriter& out) {
  write_lines(rows, "", out, [&](const auto& values) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (i > 0) out.add(",");
      write_field(values[i], out);
    }
    out.add("\n");
  });
}

}  // namespace harness
