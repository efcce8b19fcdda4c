#pragma once

#include <string>
#include <vector>

#include "core/image.h"

namespace harness {

/// A drawing of `text` like those the embedded model learns from: 96 x 48 pixels, up to 3 lines of 12 cells
/// of 8 x 16, monospace, one of 5 fonts and 16 palettes. fade: opacity of the ink, 1 is clean. Throws
/// std::invalid_argument for a text that does not fit.
Image render_text(const std::string& text, int font, int palette, double fade = 1);

inline constexpr int kFonts = 5, kPalettes = 16;

}  // namespace harness
