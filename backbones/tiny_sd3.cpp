#include "backbones/sd3_backbone.h"
#include "embedded/glyph_text_encoder.h"
#include "models/nn/random_weights.h"

// SD3's classes in a debug size with random weights. The latent is 16 x 32 x 32, D = 16384, the ratio of
// lambda_center to lambda_var in the paper's tiny-SD3 table.

namespace harness {
namespace {

constexpr std::int64_t kTextWidth = 32, kPooledWidth = 64;

Sd3Config transformer_config() {
  Sd3Config c;
  c.sample_size = 32;
  c.num_layers = 1;
  c.num_attention_heads = 4;
  c.attention_head_dim = 8;
  c.joint_attention_dim = kTextWidth;
  c.caption_projection_dim = c.width();
  c.pooled_projection_dim = kPooledWidth;
  c.pos_embed_max_size = 32;
  return c;
}

AutoencoderConfig autoencoder_config() {
  AutoencoderConfig c;
  c.block_out_channels = {8, 8};
  c.layers_per_block = 1;
  c.norm_num_groups = 4;
  c.sample_size = 64;
  c.scaling_factor = 1;
  c.shift_factor = 0;
  c.mid_block_add_attention = false;
  c.force_upcast = false;
  return c;
}

/// What the random weights follow from besides a seed; part of the identity of every run.
Json recipe() {
  return {{"recipe", "tiny-sd3 1: uniform within 1 / sqrt(fan in), by the run's seed"},
          {"transformer", transformer_config().to_json()},
          {"vae", autoencoder_config().to_json()},
          {"text_encoder", {{"width", kTextWidth}, {"pooled_width", kPooledWidth}}}};
}

/// A prompt's first bytes: no layout, since nothing is written.
TableInputs first_bytes(const std::vector<PromptText>& prompts) {
  std::vector<std::int64_t> tokens, styles;
  for (const auto& [text, words] : prompts) {
    for (std::size_t i = 0; i < kGlyphCells; ++i) {
      const bool is_ascii = i < text.size() && static_cast<unsigned char>(text[i]) < 0x80;
      tokens.push_back(is_ascii ? text[i] + 3 : 0);
    }
    styles.push_back(glyph_style(text));
  }
  return table_inputs(tokens, styles);
}

std::unique_ptr<Backbone> load(const BackboneSource& source) {
  Sd3Transformer transformer(transformer_config());
  AutoencoderKl vae(autoencoder_config());
  GlyphTextEncoder encoder(kTextWidth, kPooledWidth);
  initialise_uniform(*transformer, mixed_seed({source.seed, 201}));
  initialise_uniform(*vae, mixed_seed({source.seed, 202}));
  initialise_uniform(*encoder, mixed_seed({source.seed, 203}));
  const auto size = transformer->config().sample_size;
  const LatentShape latent{transformer->config().in_channels, size, size};
  return std::make_unique<Sd3Backbone>(
      std::move(transformer), std::move(vae),
      std::make_shared<TablePromptEncoder>(std::move(encoder), first_bytes, source.device), latent,
      source.device);
}

const bool kRegistered = register_backbone(
    {.name = "tiny-sd3",
     .random_weights = recipe,
     .threads = 1,  // its operations are too small to share: two runs side by side are faster
     .has_usual_sampler = false,
     .images = kGlyphImages,
     .load = load});

}  // namespace
}  // namespace harness
