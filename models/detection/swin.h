#pragma once

#include <memory>
#include <vector>

#include "models/configs/mask2former_config.h"
#include "models/nn/parameters.h"
#include "models/nn/torch.h"

namespace harness {

class SwinPatches;  // models/detection/swin.cpp
class SwinStage;

// B images of H x W pixels; stage i has C_i = embed_dim 2^i channels on a grid of about H / (patch 2^i).

/// Swin transformer as the backbone of a detector (arXiv:2103.14030): what stands under
/// `model.pixel_level_module.encoder.` in a checkpoint. Windows are never made smaller for small pictures:
/// grids are filled up with zeros, as mmdetection does and transformers' SwinBackbone.
class SwinBackboneImpl : public torch::nn::Module {
 public:
  explicit SwinBackboneImpl(const SwinConfig& config);

  /// pixel_values [B,3,H,W] -> the four stages' normalised features [B,C_i,H_i,W_i], finest first.
  std::vector<torch::Tensor> forward(const torch::Tensor& pixel_values);

 private:
  std::shared_ptr<SwinPatches> patches_;
  std::vector<std::shared_ptr<SwinStage>> stages_;
  std::vector<LayerNorm> norms_;
};
TORCH_MODULE(SwinBackbone);

}  // namespace harness
