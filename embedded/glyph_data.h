#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "embedded/glyph_layout.h"
#include "embedded/glyph_renderer.h"
#include "embedded/pictures/engine.h"
#include "embedded/prompted_images.h"

namespace harness {

/// Invented phrases that fit the grid, of random letters: no test target is learned by heart.
std::vector<std::string> glyph_phrases(std::uint64_t seed);
const std::string& any_phrase(const std::vector<std::string>& phrases, DataEngine& engine);

/// The ink of a training image: with probability `share` a strength uniform in low..high, else 1.
struct GlyphFading {
  double share = 0, low = 0, high = 1;
};

/// `size` random phrases, fonts, styles (1..16) and strengths: images [B,3,48,96], tokens [B,36].
PromptedImages glyph_batch(const GlyphRenderer& renderer, const std::vector<std::string>& phrases,
                           const GlyphFading& fading, std::int64_t size, std::uint64_t seed);

}  // namespace harness
