#pragma once

#include <cstdint>
#include <string>

#include "models/configs/clip_config.h"
#include "models/encoders/clip_encoder.h"
#include "models/nn/parameters.h"
#include "models/nn/torch.h"

namespace harness {

// B texts, S <= max_position_embeddings tokens, C = hidden_size, P = projection_dim.

struct ClipTextOutput {
  torch::Tensor last_hidden_state;  ///< [B,S,C], after the final norm
  torch::Tensor penultimate;        ///< [B,S,C], hidden_states[-2]: the input of the last layer, not normed
  torch::Tensor pooled;             ///< [B,C], last_hidden_state at the end token
  torch::Tensor text_embeds;        ///< [B,P], pooled and projected; undefined without a projection
};

/// The text tower of CLIP: the weights under `text_model.` in a checkpoint. Every position sees itself and
/// those before it, padding included. The end token is the first eos_token_id of a row, or position 0 if it
/// has none; with eos_token_id 2, the first of the row's largest id.
class ClipTextTowerImpl : public torch::nn::Module {
 public:
  explicit ClipTextTowerImpl(const ClipTextConfig& config);

  /// input_ids [B,S], int64, below vocab_size.
  ClipTextOutput forward(const torch::Tensor& input_ids);

 private:
  torch::Tensor end_positions(const torch::Tensor& input_ids) const;  ///< [B]

  std::int64_t eos_token_id_;
  Embedding tokens_{nullptr}, positions_{nullptr};
  ClipEncoder encoder_{nullptr};
  LayerNorm final_norm_{nullptr};
};
TORCH_MODULE(ClipTextTower);

/// CLIPTextModel, or CLIPTextModelWithProjection if the config has a projection.
class ClipTextModelImpl : public torch::nn::Module {
 public:
  explicit ClipTextModelImpl(const ClipTextConfig& config);

  ClipTextOutput forward(const torch::Tensor& input_ids);

  const ClipTextConfig& config() const { return config_; }

 private:
  ClipTextConfig config_;
  ClipTextTower tower_{nullptr};
  Dense projection_{nullptr};
};
TORCH_MODULE(ClipTextModel);

/// This module's name for a checkpoint's key, with or without `text_model.`; position_ids are no weights.
std::string clip_text_key(const std::string& key);

}  // namespace harness
