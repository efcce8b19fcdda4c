#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "models/configs/flux_config.h"
#include "models/diffusion/joint_block.h"
#include "models/nn/parameters.h"
#include "models/nn/torch.h"

namespace harness {

class FluxSingleBlock;  // models/diffusion/flux_transformer.cpp

/// What FLUX's velocity network is given for B images of N tokens and texts of S tokens.
struct FluxInputs {
  torch::Tensor tokens;     ///< [B,N,in_channels], packed
  torch::Tensor text;       ///< [B,S,joint_attention_dim]
  torch::Tensor pooled;     ///< [B,pooled_projection_dim]
  torch::Tensor sigma;      ///< [B], flow time 0..1
  torch::Tensor guidance;   ///< [B]; undefined for a network without guidance embedding
  torch::Tensor image_ids;  ///< [N,3], positions
  torch::Tensor text_ids;   ///< [S,3]
};

/// The velocity network of FLUX.1: joint blocks, then single blocks over all tokens together, with rotary
/// positions of three axes; weights under diffusers' key names.
class FluxTransformerImpl : public torch::nn::Module {
 public:
  explicit FluxTransformerImpl(const FluxConfig& config);

  /// Velocity x_1 - x_0 (E1), packed: [B,N,in_channels].
  torch::Tensor forward(const FluxInputs& inputs);

  /// The same of latents [B,C,h,w], h and w even, at flow times sigma [B] and guidance [B]: float32
  /// [B,C,h,w].
  torch::Tensor velocity(const torch::Tensor& latents, const torch::Tensor& text, const torch::Tensor& pooled,
                         const torch::Tensor& sigma, const torch::Tensor& guidance);

  const FluxConfig& config() const { return config_; }
  /// Trades time for memory: blocks are computed once more for the gradient (models/nn/recompute.h).
  void set_recompute(bool recompute) { recompute_ = recompute; }
  torch::ScalarType dtype() const { return image_->weight.scalar_type(); }

 private:
  FluxConfig config_;
  bool recompute_ = false;
  EmbeddingLayers time_, guidance_, pooled_;
  Dense context_{nullptr}, image_{nullptr}, out_modulation_{nullptr}, out_{nullptr};
  std::vector<std::shared_ptr<JointBlock>> blocks_;
  std::vector<std::shared_ptr<FluxSingleBlock>> single_blocks_;
};
TORCH_MODULE(FluxTransformer);

/// Latents [B,C,h,w] as tokens [B,h/2 w/2,4 C] of 2 x 2 patches, channels first within a token; and back.
torch::Tensor packed_latents(const torch::Tensor& latents);
torch::Tensor unpacked_latents(const torch::Tensor& tokens, std::int64_t rows, std::int64_t columns);

/// Positions [rows columns,3] of a picture's tokens: (0, row, column).
torch::Tensor flux_image_ids(std::int64_t rows, std::int64_t columns, torch::Device device);

/// Angles of positions ids [N,axes]: `sizes` channels an axis, base 10000, computed in float64.
Rotation rotary_positions(const torch::Tensor& ids, const std::vector<std::int64_t>& sizes);

}  // namespace harness
