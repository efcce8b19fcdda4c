#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "embedded/flow_stages.h"
#include "embedded/glyph_layout.h"
#include "embedded/glyph_renderer.h"
#include "embedded/pictures/engine.h"

namespace harness {

/// Invented phrases that fit the grid, of random letters: no test target is memorised.
std::vector<std::string> glyph_phrases(std::uint64_t seed);
const std::string& any_phrase(const std::vector<std::string>& phrases, DataEngine& engine);

/// The ink of a training image: with probability `share` a strength uniform in low..high, else 1.
struct GlyphFading {
  double share = 0, low = 0, high = 1;
};

/// Renderings of random phrases with random fonts and styles, some of them faded.
DrawImages glyph_images(const PretrainOptions& options, const GlyphFading& fading);

/// Training images of the models `glyph` and `glyph-flux`.
FlowSource glyph_source(const PretrainOptions& options);

}  // namespace harness
