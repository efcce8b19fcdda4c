#pragma once

#include <filesystem>
#include <span>
#include <vector>

#include "embedded/glyph_layout.h"

namespace harness {

/// How one training image looks; the caller samples what the prompt leaves open.
struct GlyphLook {
  int font = 0;
  int style = 0;       ///< 0..15
  float strength = 1;  ///< 1 clean, 0 invisible ink
};

/// Draws layouts from an atlas of pre-rendered characters, for pretraining alone.
class GlyphRenderer {
 public:
  /// A greyscale PNG, one font a row of 95 cells (printable ASCII). Throws Error at another shape.
  explicit GlyphRenderer(const std::filesystem::path& atlas);

  int fonts() const { return fonts_; }

  /// Writes an image [3,48,96] in -1..1: background (1 - strength a) + ink strength a, a the coverage.
  void draw(const GlyphLayout& layout, const GlyphLook& look, std::span<float> image) const;

 private:
  int fonts_ = 0;
  std::vector<float> coverage_;  ///< [fonts, 95, 16, 8]
};

}  // namespace harness
