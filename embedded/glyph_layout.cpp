#include "embedded/glyph_layout.h"

#include <utf8proc.h>

#include <algorithm>
#include <boost/crc.hpp>

#include "core/text.h"

namespace harness {
namespace {

bool is_printable_ascii(char c) {
  return c >= ' ' && c <= '~';
}

/// Accents taken off, everything that is then not printable ASCII dropped.
std::string to_ascii(std::string_view text) {
  if (std::all_of(text.begin(), text.end(), is_printable_ascii)) return std::string(text);
  utf8proc_uint8_t* mapped = nullptr;
  const auto size = utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                                 static_cast<utf8proc_ssize_t>(text.size()), &mapped,
                                 static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPAT |
                                                                UTF8PROC_DECOMPOSE | UTF8PROC_STRIPMARK));
  std::string out;
  for (utf8proc_ssize_t i = 0; i < size; ++i) {
    const char c = static_cast<char>(mapped[i]);
    if (is_printable_ascii(c)) out += c;
  }
  std::free(mapped);
  return out;
}

/// An accent by itself: taking it off loses nothing that could be drawn.
bool is_mark(char32_t c) {
  const auto category = utf8proc_category(static_cast<utf8proc_int32_t>(c));
  return category == UTF8PROC_CATEGORY_MN || category == UTF8PROC_CATEGORY_MC ||
         category == UTF8PROC_CATEGORY_ME;
}

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  for (auto& word : split(text, ' ')) {
    if (!word.empty()) words.push_back(std::move(word));
  }
  return words;
}

/// Lines of at most `width`; empty if a word is longer.
std::vector<std::string> greedy_wrap(const std::vector<std::string>& words, std::size_t width) {
  std::vector<std::string> lines;
  for (const auto& word : words) {
    if (word.size() > width) return {};
    if (!lines.empty() && lines.back().size() + 1 + word.size() <= width) {
      lines.back() += " " + word;
    } else {
      lines.push_back(word);
    }
  }
  return lines;
}

/// The wrap with the fewest lines, made as narrow as that number allows.
std::vector<std::string> balanced_wrap(const std::vector<std::string>& words) {
  auto lines = greedy_wrap(words, kGlyphColumns);
  for (std::size_t width = kGlyphColumns - 1; width > 0; --width) {
    auto narrower = greedy_wrap(words, width);
    if (narrower.empty() || narrower.size() != lines.size()) break;
    lines = std::move(narrower);
  }
  return lines;
}

std::vector<std::string> broken_words(const std::vector<std::string>& words) {
  std::vector<std::string> pieces;
  for (const auto& word : words) {
    for (std::size_t i = 0; i < word.size(); i += kGlyphColumns)
      pieces.push_back(word.substr(i, kGlyphColumns));
  }
  return pieces;
}

std::vector<std::string> cut_to_grid(const std::vector<std::string>& words) {
  const auto text = join(words, " ").substr(0, kGlyphCells);
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < text.size(); i += kGlyphColumns) lines.push_back(text.substr(i, kGlyphColumns));
  return lines;
}

std::string place(const std::vector<std::string>& lines) {
  std::string cells(kGlyphCells, ' ');
  const std::size_t first = lines.size() == 1 ? 1 : 0;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const auto offset = (kGlyphColumns - lines[i].size()) / 2;
    cells.replace((first + i) * kGlyphColumns + offset, lines[i].size(), lines[i]);
  }
  return cells;
}

}  // namespace

GlyphLayout glyph_layout(std::string_view target) {
  const std::string ascii = to_ascii(target);
  const auto words = words_of(ascii);
  auto lines = balanced_wrap(words);
  if (!lines.empty() && lines.size() <= kGlyphLines) return {place(lines), ascii == target};
  lines = balanced_wrap(broken_words(words));
  if (lines.size() > kGlyphLines) lines = cut_to_grid(words);
  return {place(lines), false};
}

GlyphLoss glyph_loss(std::string_view target) {
  GlyphLoss loss;
  for (const char32_t c : utf8_to_utf32(target, "target")) {
    const auto character = utf32_to_utf8(std::u32string(1, c));
    if (is_mark(c) || !to_ascii(character).empty()) continue;
    if (std::ranges::find(loss.dropped, character) == loss.dropped.end()) loss.dropped.push_back(character);
  }
  const auto drawn = [](std::string_view text) {
    return std::ranges::count_if(text, [](char c) { return c != ' '; });
  };
  loss.cut = static_cast<std::size_t>(drawn(to_ascii(target)) - drawn(glyph_layout(target).cells));
  return loss;
}

std::vector<std::int64_t> glyph_tokens(const GlyphLayout& layout) {
  std::vector<std::int64_t> tokens;
  for (const char c : layout.cells) tokens.push_back(static_cast<std::int64_t>(c) + 3);
  return tokens;
}

int glyph_style(std::string_view prompt) {
  std::string rest(prompt);
  if (const auto open = rest.find('"'); open != std::string::npos) {
    const auto close = rest.find('"', open + 1);
    rest.erase(open, close == std::string::npos ? std::string::npos : close - open + 1);
  }
  boost::crc_32_type crc;
  crc.process_bytes(rest.data(), rest.size());
  return static_cast<int>(crc.checksum() % kGlyphStyles) + 1;
}

}  // namespace harness
