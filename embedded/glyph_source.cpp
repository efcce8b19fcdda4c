#include "embedded/glyph_source.h"

#include "models/nn/random_weights.h"

namespace harness {

DrawImages glyph_images(const PretrainOptions& options, const GlyphFading& fading) {
  struct Atlas {
    GlyphRenderer renderer;
    std::vector<std::string> phrases;
  };
  const auto atlas = std::make_shared<Atlas>(
      Atlas{GlyphRenderer(options.atlas), glyph_phrases(mixed_seed({options.seed, 100}))});
  return [atlas, fading](std::int64_t size, std::uint64_t seed) {
    return glyph_batch(atlas->renderer, atlas->phrases, fading, size, seed);
  };
}

FlowSource glyph_source(const PretrainOptions& options) {
  return {.sample_size = kGlyphWidth,
          .table = {.width = FlowStages::kWidth, .pooled_width = FlowStages::kPooledWidth},
          .clear = glyph_images(options, {}),
          .autoencoder = glyph_images(options, {0.2, 0, 1}),
          .decoder = glyph_images(options, {0.3, 0, 1})};
}

}  // namespace harness
