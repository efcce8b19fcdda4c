#include "models/encoders/clip_text_model.h"

#include <fmt/format.h>

#include "models/nn/module_path.h"

namespace harness {
namespace {

using torch::Tensor;

constexpr std::int64_t kLegacyEos = 2;
constexpr auto kTower = "text_model", kProjection = "text_projection";

}  // namespace

ClipTextTowerImpl::ClipTextTowerImpl(const ClipTextConfig& config) : eos_token_id_(config.eos_token_id) {
  const auto c = config.hidden_size;
  tokens_ = register_path(*this, "embeddings.token_embedding", Embedding(config.vocab_size, c));
  positions_ =
      register_path(*this, "embeddings.position_embedding", Embedding(config.max_position_embeddings, c));
  encoder_ = register_module("encoder", ClipEncoder(config));
  final_norm_ = register_module("final_layer_norm", LayerNorm(c, config.layer_norm_eps));
}

Tensor ClipTextTowerImpl::end_positions(const Tensor& input_ids) const {
  return eos_token_id_ == kLegacyEos ? input_ids.argmax(1)
                                     : (input_ids == eos_token_id_).to(torch::kInt64).argmax(1);
}

ClipTextOutput ClipTextTowerImpl::forward(const Tensor& input_ids) {
  const auto batch = input_ids.size(0), length = input_ids.size(1);
  TORCH_CHECK(length <= positions_->weight.size(0), length, " tokens exceed the ", positions_->weight.size(0),
              " positions of the text encoder");
  const auto x = tokens_(input_ids) + positions_->weight.narrow(0, 0, length);
  const auto states = encoder_->forward(x, /*causal=*/true);
  const auto last = final_norm_(states.last);
  const auto rows = torch::arange(batch, input_ids.options());
  return {.last_hidden_state = last,
          .penultimate = states.penultimate,
          .pooled = last.index({rows, end_positions(input_ids)}),
          .text_embeds = {}};
}

ClipTextModelImpl::ClipTextModelImpl(const ClipTextConfig& config) : config_(config) {
  tower_ = register_module(kTower, ClipTextTower(config));
  if (config.with_projection) {
    projection_ =
        register_module(kProjection, Dense(config.hidden_size, config.projection_dim, /*with_bias=*/false));
  }
}

ClipTextOutput ClipTextModelImpl::forward(const Tensor& input_ids) {
  auto output = tower_->forward(input_ids);
  if (config_.with_projection) output.text_embeds = projection_(output.pooled);
  return output;
}

std::string clip_text_key(const std::string& key) {
  if (key.ends_with("embeddings.position_ids")) return "";
  const auto under = [&key](const std::string& name) { return key.starts_with(name + "."); };
  return under(kTower) || under(kProjection) ? key : fmt::format("{}.{}", kTower, key);
}

}  // namespace harness
