#include "embedded/glyph_text_encoder.h"

#include <algorithm>

#include "models/nn/component.h"
#include "models/nn/parameters.h"

namespace harness {

GlyphTextEncoderImpl::GlyphTextEncoderImpl(const GlyphTextConfig& config) {
  token_ = register_module("token", Embedding(config.tokens, config.width))->weight;
  cell_ = register_module("cell", Embedding(config.places, config.width))->weight;
  style_ = register_module("style", Embedding(config.styles, config.pooled_width))->weight;
  if (config.pooled_tokens)
    pooled_ = register_module("pooled", Embedding(config.tokens, config.pooled_width))->weight;
}

TextCondition GlyphTextEncoderImpl::forward(const torch::Tensor& tokens, const torch::Tensor& style) {
  auto pooled = torch::embedding(style_, style);
  if (pooled_.defined()) pooled = pooled + torch::embedding(pooled_, tokens).sum(1);
  return {torch::embedding(token_, tokens) + cell_, pooled};
}

GlyphTextEncoder load_glyph_text_encoder(const std::filesystem::path& folder) {
  return load_component<GlyphTextEncoder, GlyphTextConfig>(folder, "model", {});
}

TableInputs table_inputs(const std::vector<std::int64_t>& tokens, const std::vector<std::int64_t>& styles) {
  const auto n = static_cast<std::int64_t>(styles.size());
  return {torch::tensor(tokens, torch::kInt64)
              .view({n, static_cast<std::int64_t>(tokens.size()) / std::max<std::int64_t>(n, 1)}),
          torch::tensor(styles, torch::kInt64)};
}

TablePromptEncoder::TablePromptEncoder(GlyphTextEncoder table, Inputs inputs, torch::Device device)
    : table_(std::move(table)), inputs_(inputs), device_(device) {
  table_->to(device);
}

TextCondition TablePromptEncoder::encode(const std::vector<PromptText>& prompts) {
  const torch::NoGradGuard no_grad;
  const auto [tokens, styles] = inputs_(prompts);
  return table_->forward(tokens.to(device_), styles.to(device_));
}

TextCondition TablePromptEncoder::encode_empty(std::int64_t count) {
  const torch::NoGradGuard no_grad;
  const auto options = torch::TensorOptions(torch::kInt64).device(device_);
  return table_->forward(torch::zeros({count, table_->places()}, options), torch::zeros({count}, options));
}

}  // namespace harness
