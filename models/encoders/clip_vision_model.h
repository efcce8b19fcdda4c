#pragma once

#include <memory>

#include "models/configs/clip_config.h"
#include "models/encoders/clip_encoder.h"
#include "models/nn/parameters.h"
#include "models/nn/torch.h"

namespace harness {

class ClipVisionEmbeddings;  // models/encoders/clip_vision_model.cpp

// B images of image_size S, C = hidden_size.

/// The image tower of CLIP: the weights under `vision_model.` in a checkpoint.
class ClipVisionTowerImpl : public torch::nn::Module {
 public:
  explicit ClipVisionTowerImpl(const ClipVisionConfig& config);

  /// pixel_values [B,3,S,S], normalised -> [B,C], the class token after the last norm.
  torch::Tensor forward(const torch::Tensor& pixel_values) { return pooled(hidden_states(pixel_values)); }

  /// -> [B,1+N,C]: the class token and the patches, row by row, as the last layer gives them.
  torch::Tensor hidden_states(const torch::Tensor& pixel_values);
  /// The class token of hidden states after the last norm, [B,C].
  torch::Tensor pooled(const torch::Tensor& hidden_states);

 private:
  std::shared_ptr<ClipVisionEmbeddings> embeddings_;
  LayerNorm pre_norm_{nullptr}, post_norm_{nullptr};
  ClipEncoder encoder_{nullptr};
};
TORCH_MODULE(ClipVisionTower);

}  // namespace harness
