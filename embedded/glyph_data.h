#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "embedded/glyph_layout.h"
#include "embedded/glyph_renderer.h"
#include "models/nn/torch.h"

namespace harness {

/// Invented phrases for pretraining: 1 to 5 words of random letters, digits and marks, no dictionary, so that
/// no test target is learned by heart. All fit the grid. The same seed gives the same list.
std::vector<std::string> glyph_phrases(std::uint64_t seed, std::size_t count);

/// How strongly the ink of a training image is drawn: with `faded_share` a strength uniform in low..high,
/// else 1.
struct GlyphFading {
  double share = 0, low = 0, high = 1;
};

struct GlyphBatch {
  torch::Tensor images;  ///< [B,3,48,96] in -1..1
  torch::Tensor tokens;  ///< [B,36] int64
  torch::Tensor styles;  ///< [B] int64, 1..16
};

/// Draws `size` random phrases, fonts, styles and strengths. The same `seed` gives the same batch.
GlyphBatch glyph_batch(const GlyphRenderer& renderer, const std::vector<std::string>& phrases,
                       const GlyphFading& fading, std::int64_t size, std::uint64_t seed);

}  // namespace harness
