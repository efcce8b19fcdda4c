#pragma once

#include <memory>
#include <vector>

#include "models/configs/mask2former_config.h"
#include "models/nn/parameters.h"
#include "models/nn/torch.h"

namespace harness {

/// What the checkpoints of Mask2Former have in common.
inline constexpr std::int64_t kDecoderLevels = 3;
inline constexpr double kDecoderEps = 1e-5;

class DeformableLayer;  // models/detection/pixel_decoder.cpp
class ConvNorm;

/// What the pixel decoder makes of a picture.
struct PixelFeatures {
  torch::Tensor mask_features;        ///< [B,M,H/4,W/4]
  std::vector<torch::Tensor> levels;  ///< [B,C,H_l,W_l], coarsest first: 1/32, 1/16, 1/8
};

/// Sines and cosines of normalised rows and columns (arXiv:2005.12872): [C,H,W], rows first.
torch::Tensor sine_positions(std::int64_t channels, std::int64_t rows, std::int64_t columns,
                             torch::Device device);

/// Multi-scale deformable attention over the three coarser stages and one step up to the finest (Deformable
/// DETR, arXiv:2010.04159; Mask2Former, arXiv:2112.01527): what stands under
/// `model.pixel_level_module.decoder.` in a checkpoint.
class PixelDecoderImpl : public torch::nn::Module {
 public:
  explicit PixelDecoderImpl(const Mask2FormerConfig& config);

  /// stages: a backbone's four, finest first.
  PixelFeatures forward(const std::vector<torch::Tensor>& stages);

 private:
  std::vector<std::shared_ptr<ConvNorm>> inputs_;  ///< coarsest first
  std::vector<std::shared_ptr<DeformableLayer>> layers_;
  std::shared_ptr<ConvNorm> lateral_, output_;
  torch::Tensor level_embed_;  ///< [3,C]
  Conv mask_projection_{nullptr};
  std::int64_t channels_;
};
TORCH_MODULE(PixelDecoder);

}  // namespace harness
