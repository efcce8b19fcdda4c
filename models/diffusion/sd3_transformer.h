#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "models/configs/sd3_config.h"
#include "models/diffusion/joint_block.h"
#include "models/nn/parameters.h"
#include "models/nn/torch.h"

namespace harness {

/// MMDiT: the velocity network of Stable Diffusion 3 (arXiv:2403.03206), weights under diffusers' key names.
class Sd3TransformerImpl : public torch::nn::Module {
 public:
  explicit Sd3TransformerImpl(const Sd3Config& config);

  /// Velocity x_1 - x_0 (E1). latents [B,in,h,w], h and w multiples of the patch; text
  /// [B,S,joint_attention_dim]; pooled [B,pooled_projection_dim]; timestep [B] = 1000 t -> [B,out,h,w].
  torch::Tensor forward(const torch::Tensor& latents, const torch::Tensor& text, const torch::Tensor& pooled,
                        const torch::Tensor& timestep);

  const Sd3Config& config() const { return config_; }
  /// Trades time for memory: blocks are computed once more for the gradient (models/nn/recompute.h).
  void set_recompute(bool recompute) { recompute_ = recompute; }
  torch::ScalarType dtype() const { return patch_->weight.scalar_type(); }

 private:
  torch::Tensor embed_patches(const torch::Tensor& latents) const;
  torch::Tensor unpatchify(const torch::Tensor& tokens, std::int64_t rows, std::int64_t columns) const;

  Sd3Config config_;
  bool recompute_ = false;
  Conv patch_{nullptr};
  torch::Tensor position_table_;  ///< [1, max^2, width], a buffer
  EmbeddingLayers time_, pooled_;
  Dense context_{nullptr}, out_modulation_{nullptr}, out_{nullptr};
  std::vector<std::shared_ptr<JointBlock>> blocks_;
};
TORCH_MODULE(Sd3Transformer);

/// Sine-cosine position table [1, size^2, width] as diffusers makes it for a grid of `size` of unit `base`.
torch::Tensor sincos_position_table(std::int64_t width, std::int64_t size, std::int64_t base);

}  // namespace harness
