#include "core/text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <utf8proc.h>

#include <algorithm>
#include <cstdint>
#include <numeric>

#include "core/error.h"

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

/// Would change how a terminal shows what stands around it.
bool is_unprintable(char32_t c) {
  const auto category = utf8proc_category(static_cast<utf8proc_int32_t>(c));
  return category == UTF8PROC_CATEGORY_CC || category == UTF8PROC_CATEGORY_CF ||
         category == UTF8PROC_CATEGORY_ZL || category == UTF8PROC_CATEGORY_ZP;
}

template <class Text>
std::size_t edit_distance(const Text& a, const Text& b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t above = row[j];
      row[j] = std::min({above + 1, row[j - 1] + 1, diagonal + (a[i - 1] == b[j - 1] ? 0 : 1)});
      diagonal = above;
    }
  }
  return row[b.size()];
}

/// As edit_distance, and two neighbours in the other order count 1 (optimal string alignment): the commonest
/// slip of a keyboard.
std::size_t typing_distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> d(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) d[i][0] = i;
  std::iota(d[0].begin(), d[0].end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    for (std::size_t j = 1; j <= b.size(); ++j) {
      d[i][j] =
          std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
    }
  }
  return d[a.size()][b.size()];
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
    const auto distance = typing_distance(word, candidate);
    if (distance < best_distance) {
      best = &candidate;
      best_distance = distance;
    }
  }
  if (best == nullptr) return std::nullopt;
  return *best;
}

std::string suggestion(std::string_view word, std::span<const std::string> candidates) {
  auto near = nearest(word, candidates);
  if (!near) near = shortest_beginning_with(word, candidates);
  if (near) return fmt::format("did you mean \"{}\"?", *near);
  return fmt::format("known: {}", fmt::join(candidates, ", "));
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

std::string in_quotes(std::string_view text) {
  constexpr std::size_t kShown = 120;
  std::string out = "\"";
  std::size_t i = 0;
  while (i < text.size() && i < kShown) {
    const auto [length, value] = code_point_at(text, i);
    if (length == 0) {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[i++]));
      continue;
    }
    if (value == U'"' || value == U'\\') out += '\\';
    if (is_unprintable(value)) {
      out += fmt::format("\\u{:04x}", static_cast<std::uint32_t>(value));
    } else {
      out += text.substr(i, static_cast<std::size_t>(length));
    }
    i += static_cast<std::size_t>(length);
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

int display_width(std::string_view text) {
  int width = 0;
  for (std::size_t i = 0; i < text.size();) {
    const auto [length, value] = code_point_at(text, i);
    width += length == 0 ? 1 : utf8proc_charwidth(static_cast<utf8proc_int32_t>(value));
    i += length == 0 ? 1 : static_cast<std::size_t>(length);
  }
  return width;
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

std::size_t levenshtein(std::u32string_view a, std::u32string_view b) {
  return edit_distance(a, b);
}

}  // namespace harness
