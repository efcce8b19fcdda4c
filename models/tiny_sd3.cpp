#include "models/tiny_sd3.h"

namespace harness {

Sd3Config tiny_sd3_transformer() {
  Sd3Config c;
  c.sample_size = 32;
  c.num_layers = 1;
  c.num_attention_heads = 4;
  c.attention_head_dim = 8;
  c.joint_attention_dim = kTinySd3TextWidth;
  c.caption_projection_dim = c.width();
  c.pooled_projection_dim = kTinySd3PooledWidth;
  c.pos_embed_max_size = 32;
  return c;
}

AutoencoderConfig tiny_sd3_autoencoder() {
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

Json tiny_sd3_identity() {
  return {{"recipe", "tiny-sd3 1: uniform within 1 / sqrt(fan in), by the run's seed"},
          {"transformer", tiny_sd3_transformer().to_json()},
          {"vae", tiny_sd3_autoencoder().to_json()},
          {"text_encoder", {{"width", kTinySd3TextWidth}, {"pooled_width", kTinySd3PooledWidth}}}};
}

std::pair<torch::Tensor, torch::Tensor> tiny_sd3_inputs(const std::vector<std::string>& prompts) {
  std::vector<std::int64_t> tokens, styles;
  for (const auto& prompt : prompts) {
    for (std::size_t i = 0; i < kGlyphCells; ++i) {
      const bool is_ascii = i < prompt.size() && static_cast<unsigned char>(prompt[i]) < 0x80;
      tokens.push_back(is_ascii ? prompt[i] + 3 : 0);
    }
    styles.push_back(glyph_style(prompt));
  }
  const auto n = static_cast<std::int64_t>(styles.size());
  return {torch::tensor(tokens, torch::kInt64).view({n, kGlyphCells}), torch::tensor(styles, torch::kInt64)};
}

}  // namespace harness
