#pragma once

#include <string>
#include <vector>

#include "models/configs/glyph_text_config.h"
#include "models/text_condition.h"
#include "models/tokenizers/glyph_layout.h"
#include "models/torch.h"

namespace harness {

/// Byte-level text table of the embedded model: token embedding plus cell embedding, no layers (the joint
/// blocks do the mixing), and a style embedding as the pooled projection. Keys: token.weight [131,C],
/// cell.weight [36,C], style.weight [17,P].
class GlyphTextEncoderImpl : public torch::nn::Module {
 public:
  GlyphTextEncoderImpl(std::int64_t width, std::int64_t pooled_width);
  explicit GlyphTextEncoderImpl(const GlyphTextConfig& config)
      : GlyphTextEncoderImpl(config.width, config.pooled_width) {}

  /// tokens [B,36] int64, style [B] int64.
  TextCondition forward(const torch::Tensor& tokens, const torch::Tensor& style);

  std::int64_t width() const { return token_.size(1); }
  std::int64_t pooled_width() const { return style_.size(1); }

 private:
  torch::Tensor token_, cell_, style_;
};
TORCH_MODULE(GlyphTextEncoder);

/// Token ids [B,36] and styles [B] of prompts, given each prompt's text and target.
std::pair<torch::Tensor, torch::Tensor> glyph_inputs(
    const std::vector<std::pair<std::string, std::string>>& prompts_and_targets);

}  // namespace harness
