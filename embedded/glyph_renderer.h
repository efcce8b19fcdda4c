#pragma once

#include <filesystem>
#include <span>
#include <vector>

#include "embedded/glyph_layout.h"

namespace harness {

/// How one training image looks; what the prompt does not say (font, fading) is drawn at random by the
/// caller.
struct GlyphLook {
  int font = 0;
  int style = 0;       ///< 0..15
  float strength = 1;  ///< 1 clean, 0 invisible ink
};

/// Draws layouts from an atlas of pre-rendered characters, in the palette of a style. Used to pretrain the
/// embedded model only.
class GlyphRenderer {
 public:
  /// A greyscale PNG, one font a row of 95 cells (printable ASCII) of 8 x 16 pixels. Throws Error if it has
  /// another shape.
  explicit GlyphRenderer(const std::filesystem::path& atlas);

  int fonts() const { return fonts_; }

  /// Writes an image [3,48,96] in -1..1: background (1 - strength a) + ink strength a, a the coverage.
  void draw(const GlyphLayout& layout, const GlyphLook& look, std::span<float> image) const;

 private:
  int fonts_ = 0;
  std::vector<float> coverage_;  ///< [fonts, 95, 16, 8]
};

}  // namespace harness
