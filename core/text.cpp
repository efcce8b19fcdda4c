#include "core/text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <utf8proc.h>

#include <algorithm>
#include <cstdint>
#include <numeric>

#include "core/error.h"
#include "core/other_names.h"

namespace harness {
namespace {

/// Length and value of the code point at `i`, or {0, 0} if the bytes there are not valid UTF-8.
std::pair<int, char32_t> code_point_at(std::string_view text, std::size_t i) {
  utf8proc_int32_t value = 0;
  const auto* bytes = reinterpret_cast<const utf8proc_uint8_t*>(text.data()) + i;
  const auto length = utf8proc_iterate(bytes, static_cast<utf8proc_ssize_t>(text.size() - i), &value);
  if (length <= 0) return {0, 0};
  return {static_cast<int>(length), static_cast<char32_t>(value)};
}

bool is_white_space(char32_t c) {
  if (c == U'\t' || c == U'\n' || c == U'\v' || c == U'\f' || c == U'\r' || c == 0x85) return true;
  const auto category = utf8proc_category(static_cast<utf8proc_int32_t>(c));
  return category == UTF8PROC_CATEGORY_ZS || category == UTF8PROC_CATEGORY_ZL ||
         category == UTF8PROC_CATEGORY_ZP;
}

/// Would change how a terminal shows the text around it.
bool is_unprintable(char32_t c) {
  const auto category = utf8proc_category(static_cast<utf8proc_int32_t>(c));
  return category == UTF8PROC_CATEGORY_CC || category == UTF8PROC_CATEGORY_CF ||
         category == UTF8PROC_CATEGORY_ZL || category == UTF8PROC_CATEGORY_ZP;
}

/// Would control the terminal that shows it, or change the direction of the text around it.
bool is_terminal_control(char32_t c) {
  if (c == U'\n' || c == U'\t') return false;
  const auto within = [c](char32_t first, char32_t last) { return c >= first && c <= last; };
  return c < 0x20 || within(0x7f, 0x9f) || c == 0x61c || within(0x200e, 0x200f) || within(0x202a, 0x202e) ||
         within(0x2066, 0x2069);
}

/// Appends the character at `i`, as itself or escaped. Returns its length in bytes.
std::size_t append_shown(std::string& out, std::string_view text, std::size_t i,
                         bool (*unprintable)(char32_t)) {
  const auto [length, value] = code_point_at(text, i);
  if (length == 0) {
    out += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[i]));
    return 1;
  }
  if (unprintable(value)) {
    out += fmt::format("\\u{:04x}", static_cast<std::uint32_t>(value));
  } else {
    out += text.substr(i, static_cast<std::size_t>(length));
  }
  return static_cast<std::size_t>(length);
}

/// Printable ASCII, which needs no second look.
bool is_plain(char c) {
  return (c >= 0x20 && c < 0x7f) || c == '\n' || c == '\t';
}

/// Edit distance; where `swaps`, two neighbours in the other order count 1 (optimal string alignment).
template <class Text>
std::size_t edit_distance(const Text& a, const Text& b, bool swaps) {
  std::vector<std::size_t> second_last(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::swap(second_last, last);
    std::swap(last, row);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      const bool swapped = swaps && i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], second_last[j - 2] + 1);
    }
  }
  return row[b.size()];
}

/// The shortest candidate that `word` is the beginning of; nothing for a word of one or two letters.
std::optional<std::string> shortest_beginning_with(std::string_view word,
                                                   std::span<const std::string> candidates) {
  constexpr std::size_t kLeast = 3;
  const std::string* best = nullptr;
  for (const auto& candidate : candidates) {
    if (word.size() < kLeast || !candidate.starts_with(word)) continue;
    if (best == nullptr || candidate.size() < best->size()) best = &candidate;
  }
  return best == nullptr ? std::nullopt : std::optional(*best);
}

}  // namespace

std::optional<std::string> nearest(std::string_view word, std::span<const std::string> candidates) {
  const std::string* best = nullptr;
  std::size_t best_distance = (word.size() < 4 ? 1 : std::max<std::size_t>(2, word.size() / 3)) + 1;
  for (const auto& candidate : candidates) {
    const auto [shorter, longer] = std::minmax({word.size(), candidate.size()});
    if (longer - shorter >= best_distance) continue;
    const auto distance = edit_distance(word, std::string_view(candidate), true);
    if (distance < best_distance) {
      best = &candidate;
      best_distance = distance;
    }
  }
  if (best == nullptr) return std::nullopt;
  return *best;
}

std::vector<std::string> meant_by(std::string_view word, std::span<const std::string> candidates) {
  auto meant = otherwise_named(word, candidates);
  if (!meant.empty()) return meant;
  auto near = nearest(word, candidates);
  if (!near) near = shortest_beginning_with(word, candidates);
  if (near) meant.push_back(std::move(*near));
  return meant;
}

std::string suggestion(std::string_view word, std::span<const std::string> candidates) {
  auto meant = meant_by(word, candidates);
  if (meant.empty()) return fmt::format("known: {}", fmt::join(candidates, ", "));
  for (auto& name : meant) name = "\"" + name + "\"";
  return fmt::format("did you mean {}?", fmt::join(meant, " or "));
}

std::optional<std::size_t> invalid_utf8_at(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const auto [length, value] = code_point_at(text, i);
    if (length == 0) return i;
    i += static_cast<std::size_t>(length);
  }
  return std::nullopt;
}

std::u32string utf8_to_utf32(std::string_view text, std::string_view where) {
  std::u32string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size();) {
    const auto [length, value] = code_point_at(text, i);
    if (length == 0)
      throw Error(fmt::format("invalid UTF-8 at byte {}", i), std::string(where), "save the text as UTF-8");
    out.push_back(value);
    i += static_cast<std::size_t>(length);
  }
  return out;
}

std::string utf32_to_utf8(std::u32string_view text) {
  std::string out;
  out.reserve(text.size());
  for (const char32_t c : text) {
    utf8proc_uint8_t bytes[4];
    const auto length = utf8proc_encode_char(static_cast<utf8proc_int32_t>(c), bytes);
    out.append(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(length));
  }
  return out;
}

std::string printable(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size();) {
    const auto begin = i;
    while (i < text.size() && is_plain(text[i])) ++i;
    out += text.substr(begin, i - begin);
    if (i < text.size()) i += append_shown(out, text, i, is_terminal_control);
  }
  return out;
}

std::string printable_line(std::string_view text) {
  std::string out;
  for (const char c : printable(text)) out += c == '\n' ? "\\n" : c == '\t' ? "\\t" : std::string(1, c);
  return out;
}

std::string in_quotes(std::string_view text) {
  constexpr std::size_t kShown = 120;
  std::string out = "\"";
  std::size_t i = 0;
  while (i < text.size() && i < kShown) {
    if (text[i] == '"' || text[i] == '\\') out += '\\';
    i += append_shown(out, text, i, is_unprintable);
  }
  out += '"';
  if (i < text.size()) out += fmt::format(" (and {} bytes more)", text.size() - i);
  return out;
}

std::u32string to_lower(std::u32string_view text) {
  std::u32string out(text);
  for (auto& c : out) c = static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(c)));
  return out;
}

std::string squeeze_white_space(std::string_view text) {
  std::u32string out;
  bool pending = false;
  for (const char32_t c : utf8_to_utf32(text)) {
    if (is_white_space(c)) {
      pending = true;
      continue;
    }
    if (pending && !out.empty()) out.push_back(U' ');
    pending = false;
    out.push_back(c);
  }
  return utf32_to_utf8(out);
}

std::string hexadecimal(std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  text.reserve(2 * bytes.size());
  for (const char c : bytes) {
    text += kDigits[static_cast<unsigned char>(c) >> 4];
    text += kDigits[static_cast<unsigned char>(c) & 15];
  }
  return text;
}

std::string_view beginning_within(std::string_view text, int columns) {
  constexpr std::size_t kMostBytesPerColumn = 16;  // letters with many marks above and below them
  const auto most = kMostBytesPerColumn * static_cast<std::size_t>(std::max(0, columns));
  std::string shown;
  for (std::size_t i = 0; i < text.size();) {
    if (text[i] >= 0x20 && text[i] < 0x7f) {
      if (--columns < 0) return text.substr(0, i);
      ++i;
      continue;
    }
    shown.clear();
    const auto next = i + append_shown(shown, text, i, is_terminal_control);
    columns -= shown == "\n" || shown == "\t" ? 2 : display_width(shown);
    if (columns < 0 || next > most) return text.substr(0, i);
    i = next;
  }
  return text;
}

int display_width(std::string_view text) {
  int width = 0;
  for (std::size_t i = 0; i < text.size();) {
    const auto [length, value] = code_point_at(text, i);
    width += length == 0 ? 1 : utf8proc_charwidth(static_cast<utf8proc_int32_t>(value));
    i += length == 0 ? 1 : static_cast<std::size_t>(length);
  }
  return width;
}

std::string cut_to_width(std::string_view text, int columns) {
  const auto beginning = beginning_within(text, columns);
  if (beginning.size() == text.size()) return std::string(text);
  return std::string(beginning_within(text, columns - 1)) + "\u2026";
}

std::string padded(std::string_view text, int width, bool right) {
  const std::string blanks(static_cast<std::size_t>(std::max(0, width - display_width(text))), ' ');
  return right ? blanks + std::string(text) : std::string(text) + blanks;
}

std::vector<std::string> filled(std::string_view text, int width) {
  std::vector<std::string> words, lines;
  bool is_open = false;  // a backquote is
  for (const auto& word : split(text, ' ')) {
    if (word.empty()) continue;
    if (is_open) {
      words.back() += " " + word;
    } else {
      words.push_back(word);
    }
    is_open = std::ranges::count(words.back(), '`') % 2 != 0;
  }
  for (const auto& word : words) {
    if (!lines.empty() && display_width(lines.back()) + 1 + display_width(word) <= width) {
      lines.back() += " " + word;
    } else {
      lines.push_back(word);
    }
  }
  return lines;
}

std::vector<int> fitted_widths(std::vector<int> widths, const std::vector<bool>& may_shrink, int between,
                               int total, int least) {
  const auto whole = widths;
  int used = between * (static_cast<int>(widths.size()) - 1);
  for (const int width : widths) used += width;
  while (used > total) {
    std::size_t widest = widths.size();
    for (std::size_t i = 0; i < widths.size(); ++i) {
      if (may_shrink[i] && widths[i] > least && (widest == widths.size() || widths[i] > widths[widest]))
        widest = i;
    }
    if (widest == widths.size()) return whole;
    --widths[widest];
    --used;
  }
  return widths;
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  while (true) {
    const auto end = text.find(separator, begin);
    parts.emplace_back(text.substr(begin, end - begin));
    if (end == std::string_view::npos) return parts;
    begin = end + 1;
  }
}

std::string_view trim(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\n";
  const auto begin = text.find_first_not_of(kBlank);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlank) - begin + 1);
}

std::string join(std::span<const std::string> parts, std::string_view separator) {
  return fmt::format("{}", fmt::join(parts, separator));
}

std::string counted(std::int64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

std::string shell_word(std::string_view word) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_=+,./:@%";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string_view::npos) return std::string(word);
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

std::size_t levenshtein(std::u32string_view a, std::u32string_view b) {
  return edit_distance(a, b, false);
}

}  // namespace harness
