#pragma once

#include <torch/torch.h>

#include <cstdint>
#include <memory>

#include "models/clip_encoder.h"
#include "models/configs/clip_config.h"
#include "models/parameters.h"

namespace harness {

class ClipVisionEmbeddings;  // models/clip_vision_model.cpp

// B images of image_size S, C = hidden_size.

/// The image tower of CLIP: what stands under `vision_model.` in a checkpoint.
class ClipVisionTowerImpl : public torch::nn::Module {
 public:
  explicit ClipVisionTowerImpl(const ClipVisionConfig& config);

  /// pixel_values [B,3,S,S], normalised -> [B,C], the class token after the last norm.
  torch::Tensor forward(const torch::Tensor& pixel_values);

 private:
  std::shared_ptr<ClipVisionEmbeddings> embeddings_;
  LayerNorm pre_norm_{nullptr}, post_norm_{nullptr};
  ClipEncoder encoder_{nullptr};
};
TORCH_MODULE(ClipVisionTower);

}  // namespace harness
