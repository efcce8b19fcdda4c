#pragma once

#include <filesystem>
#include <memory>
#include <vector>

#include "models/detection/pixel_decoder.h"
#include "models/detection/swin.h"
#include "models/nn/weights_io.h"

namespace harness {

class MaskedDecoder;  // models/detection/mask2former.cpp

/// What each of Q queries takes for an object.
struct QueryPredictions {
  torch::Tensor classes;  ///< [B,Q,labels+1] logits, the last for "no object"
  torch::Tensor masks;    ///< [B,Q,H/4,W/4] logits
};

/// transformers' Mask2FormerForUniversalSegmentation with a Swin backbone (arXiv:2112.01527), for inference.
class Mask2FormerImpl : public torch::nn::Module {
 public:
  explicit Mask2FormerImpl(const Mask2FormerConfig& config);

  /// pixel_values [B,3,H,W], normalised. The last decoder layer's predictions.
  QueryPredictions forward(const torch::Tensor& pixel_values);

  const Mask2FormerConfig& config() const { return config_; }

 private:
  Mask2FormerConfig config_;
  SwinBackbone backbone_{nullptr};
  PixelDecoder pixels_{nullptr};
  std::shared_ptr<MaskedDecoder> decoder_;
  Dense classes_{nullptr};
};
TORCH_MODULE(Mask2Former);

/// From a folder as transformers saves it: config.json and model.safetensors, or its shards. What training
/// alone needs of the file is not read. Throws Error as the other loaders do.
Mask2Former load_mask2former(const std::filesystem::path& folder, const Placement& placement = {});

}  // namespace harness
