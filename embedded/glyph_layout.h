#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace harness {

// The embedded model draws text into a grid of 3 lines of 12 cells, one character to a cell of 8 x 16 pixels.
// The position of each character is decided here: the model does not learn word wrap.
inline constexpr int kGlyphColumns = 12;
inline constexpr int kGlyphLines = 3;
inline constexpr int kGlyphCells = kGlyphColumns * kGlyphLines;
inline constexpr int kGlyphCellWidth = 8;
inline constexpr int kGlyphCellHeight = 16;
inline constexpr int kGlyphWidth = kGlyphColumns * kGlyphCellWidth,
                     kGlyphHeight = kGlyphLines * kGlyphCellHeight;
inline constexpr int kGlyphStyles = 16;
inline constexpr std::int64_t kGlyphVocabulary = 131;  ///< 0 pad, 1 and 2 unused, byte + 3

struct GlyphLayout {
  std::string cells;  ///< 36 printable ASCII bytes, row by row, blank where nothing stands
  bool fits = true;   ///< false where the fallback changed the text
};

/// Greedy word wrap at 12 columns, balanced to the smallest width with as many lines, each centred; one line
/// stands in the middle row. Of a text that does not fit accents are taken off, other non-ASCII characters
/// dropped and long words broken; if it still needs more than 3 lines, its characters are cut at 36.
GlyphLayout glyph_layout(std::string_view target);

/// What a layout leaves out: characters without printable ASCII, each once; others cut off at the end.
struct GlyphLoss {
  std::vector<std::string> dropped;  ///< UTF-8
  std::size_t cut = 0;
};
GlyphLoss glyph_loss(std::string_view target);

/// Token ids of the 36 cells: byte + 3. The unconditional prompt is 36 zeros.
std::vector<std::int64_t> glyph_tokens(const GlyphLayout& layout);

/// Colour style of a prompt, 1..16 (0: unconditional): CRC-32 without the quoted part, modulo 16, plus 1.
int glyph_style(std::string_view prompt);

}  // namespace harness
