#pragma once

#include <memory>
#include <vector>

#include "models/configs/clip_config.h"
#include "models/nn/torch.h"

namespace harness {

class ClipEncoderLayer;  // models/encoders/clip_encoder.cpp

/// The layers of a CLIP tower (arXiv:2103.00020), norm before attention and before the MLP, without the
/// tower's own embeddings and last norm. Weights under transformers' key names from `layers.` on.
class ClipEncoderImpl : public torch::nn::Module {
 public:
  struct States {
    torch::Tensor last;         ///< [B,S,C], what the last layer gives
    torch::Tensor penultimate;  ///< [B,S,C], what the last layer reads
  };

  explicit ClipEncoderImpl(const ClipTowerConfig& config);

  /// x [B,S,C]. Causal: a position sees itself and those before it; otherwise all see all.
  States forward(const torch::Tensor& x, bool causal);

 private:
  std::vector<std::shared_ptr<ClipEncoderLayer>> layers_;
};
TORCH_MODULE(ClipEncoder);

}  // namespace harness
