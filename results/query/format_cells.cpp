#include <fmt/format.h>

#include <algorithm>

#include "core/text.h"
#include "results/query/format.h"

namespace harness {
namespace {

constexpr std::size_t kPiece = 1 << 16;

/// The end of a piece of `text` from `begin`: between two characters, if its bytes are UTF-8.
std::size_t piece_end(std::string_view text, std::size_t begin) {
  constexpr std::size_t kText = 1 << 12, kLongestCharacter = 4;
  auto end = std::min(text.size(), begin + kText);
  const auto first = end - std::min(end - begin, kLongestCharacter);
  while (end < text.size() && end > first && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return end > first ? end : std::min(text.size(), begin + kText);
}

std::string_view bytes_of(const SqlValue& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  if (const auto* blob = std::get_if<Blob>(&value)) return blob->bytes;
  return {};
}

std::string number_text(const SqlValue& value, Digits digits) {
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return fmt::to_string(*integer);
  const double real = std::get<double>(value);
  return digits == Digits::kShort ? fmt::format("{:.6g}", real) : fmt::format("{}", real);
}

}  // namespace

PieceWriter& PieceWriter::add(std::string_view text) {
  pending_ += text;
  if (pending_.size() >= kPiece) hand_on();
  return *this;
}

void PieceWriter::hand_on() {
  wanted_ = wanted_ && take_(pending_);
  pending_.clear();
}

void in_pieces(const SqlValue& value, Digits digits, const std::function<void(std::string_view)>& take) {
  if (std::holds_alternative<std::monostate>(value)) return;
  if (std::holds_alternative<std::int64_t>(value) || std::holds_alternative<double>(value))
    return take(number_text(value, digits));
  const auto bytes = bytes_of(value);
  for (std::size_t begin = 0; begin < bytes.size();) {
    const auto end = piece_end(bytes, begin);
    const auto piece = bytes.substr(begin, end - begin);
    std::holds_alternative<Blob>(value) ? take(hexadecimal(piece)) : take(piece);
    begin = end;
  }
}

std::string short_cell(const SqlValue& value, std::string (*shown)(std::string_view)) {
  std::string made;
  if (const auto* blob = std::get_if<Blob>(&value)) {
    made = hexadecimal(std::string_view(blob->bytes).substr(0, kWidestCell));
  } else if (!std::holds_alternative<std::string>(value)) {
    in_pieces(value, Digits::kShort, [&](std::string_view text) { made = text; });
  }
  const auto* stored = std::get_if<std::string>(&value);
  const std::string_view text = stored == nullptr ? made : *stored;
  if (beginning_within(text, kWidestCell).size() == text.size()) return shown(text);
  return shown(beginning_within(text, kWidestCell - 1)) + "\u2026";
}

bool is_numeric_column(const ResultSet& rows, std::size_t column) {
  return std::ranges::all_of(rows.rows, [&](const auto& row) {
    const auto& value = row[column];
    return std::holds_alternative<std::int64_t>(value) || std::holds_alternative<double>(value) ||
           std::holds_alternative<std::monostate>(value);
  });
}

}  // namespace harness
