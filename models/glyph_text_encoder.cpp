#include "models/glyph_text_encoder.h"

#include "models/parameters.h"

namespace harness {

GlyphTextEncoderImpl::GlyphTextEncoderImpl(std::int64_t width, std::int64_t pooled_width) {
  token_ = register_module("token", Embedding(kGlyphVocabulary, width))->weight;
  cell_ = register_module("cell", Embedding(kGlyphCells, width))->weight;
  style_ = register_module("style", Embedding(kGlyphStyles + 1, pooled_width))->weight;
}

TextCondition GlyphTextEncoderImpl::forward(const torch::Tensor& tokens, const torch::Tensor& style) {
  return {torch::embedding(token_, tokens) + cell_, torch::embedding(style_, style)};
}

std::pair<torch::Tensor, torch::Tensor> glyph_inputs(
    const std::vector<std::pair<std::string, std::string>>& prompts_and_targets) {
  std::vector<std::int64_t> tokens, styles;
  for (const auto& [prompt, target] : prompts_and_targets) {
    const auto ids = glyph_tokens(glyph_layout(target));
    tokens.insert(tokens.end(), ids.begin(), ids.end());
    styles.push_back(glyph_style(prompt));
  }
  const auto n = static_cast<std::int64_t>(styles.size());
  return {torch::tensor(tokens, torch::kInt64).view({n, kGlyphCells}), torch::tensor(styles, torch::kInt64)};
}

}  // namespace harness
