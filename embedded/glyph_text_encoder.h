#pragma once

#include <filesystem>
#include <utility>
#include <vector>

#include "embedded/glyph_layout.h"
#include "embedded/glyph_text_config.h"
#include "models/diffusion/prompt_encoder.h"
#include "models/nn/torch.h"

namespace harness {

/// Text table: token plus place embedding, no layers, and a style embedding as the pooled projection, to
/// which an embedding of each token is added if the configuration sets it. Keys: token.weight [tokens,C],
/// cell.weight [places,C], style.weight [styles,P], pooled.weight [tokens,P]; glyph has 131 bytes, 36 cells
/// and 17 styles.
class GlyphTextEncoderImpl : public torch::nn::Module {
 public:
  explicit GlyphTextEncoderImpl(const GlyphTextConfig& config);
  /// Of glyph's sizes.
  GlyphTextEncoderImpl(std::int64_t width, std::int64_t pooled_width)
      : GlyphTextEncoderImpl(GlyphTextConfig{.width = width, .pooled_width = pooled_width}) {}

  /// tokens [B,places] int64, style [B] int64.
  TextCondition forward(const torch::Tensor& tokens, const torch::Tensor& style);

  std::int64_t width() const { return token_.size(1); }
  std::int64_t pooled_width() const { return style_.size(1); }
  std::int64_t tokens() const { return token_.size(0); }
  std::int64_t places() const { return cell_.size(0); }
  std::int64_t styles() const { return style_.size(0); }

 private:
  torch::Tensor token_, cell_, style_;
  torch::Tensor pooled_;  ///< undefined where the tokens are not pooled
};
TORCH_MODULE(GlyphTextEncoder);

/// From a folder: config.json and model.safetensors. Throws Error like load_sd3_transformer.
GlyphTextEncoder load_glyph_text_encoder(const std::filesystem::path& folder);

/// Token ids [B,places] and styles [B] of prompts.
using TableInputs = std::pair<torch::Tensor, torch::Tensor>;
TableInputs table_inputs(const std::vector<std::int64_t>& tokens, const std::vector<std::int64_t>& styles);

/// The text side of the embedded models: the table, no layers.
class TablePromptEncoder : public PromptEncoder {
 public:
  using Inputs = TableInputs (*)(const std::vector<PromptText>&);

  TablePromptEncoder(GlyphTextEncoder table, Inputs inputs, torch::Device device);

  TextCondition encode(const std::vector<PromptText>& prompts) override;
  TextCondition encode_empty(std::int64_t count) override;

 private:
  GlyphTextEncoder table_;
  Inputs inputs_;
  torch::Device device_;
};

}  // namespace harness
