#pragma once

#include <torch/torch.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "core/json.h"
#include "models/parameters.h"

namespace harness {

/// Flags of diffusers' SD3Transformer2DModel (config.json).
struct Sd3Config {
  std::int64_t sample_size = 128;
  std::int64_t patch_size = 2;
  std::int64_t in_channels = 16;
  std::int64_t out_channels = 16;
  std::int64_t num_layers = 18;
  std::int64_t attention_head_dim = 64;
  std::int64_t num_attention_heads = 18;
  std::int64_t joint_attention_dim = 4096;
  std::int64_t caption_projection_dim = 1152;
  std::int64_t pooled_projection_dim = 2048;
  std::int64_t pos_embed_max_size = 96;
  std::vector<std::int64_t> dual_attention_layers;
  bool qk_norm = false;  ///< "rms_norm", or none

  std::int64_t width() const { return num_attention_heads * attention_head_dim; }

  /// Throws Error at a flag or value that this class does not implement.
  static Sd3Config from_json(const Json& document, const std::string& where);
  Json to_json() const;
};

class JointBlock;  // models/sd3_transformer.cpp

/// MMDiT: the velocity network of Stable Diffusion 3 and 3.5 (arXiv:2403.03206), weights under diffusers' key
/// names.
class Sd3TransformerImpl : public torch::nn::Module {
 public:
  explicit Sd3TransformerImpl(const Sd3Config& config);

  /// Velocity x_1 - x_0 (E1). latents [B,in,h,w], h and w multiples of the patch; text
  /// [B,S,joint_attention_dim]; pooled [B,pooled_projection_dim]; timestep [B] = 1000 t -> [B,out,h,w].
  torch::Tensor forward(const torch::Tensor& latents, const torch::Tensor& text, const torch::Tensor& pooled,
                        const torch::Tensor& timestep);

  const Sd3Config& config() const { return config_; }
  /// Trades time for memory: blocks are computed once more for the gradient (models/recompute.h).
  void set_recompute(bool recompute) { recompute_ = recompute; }
  torch::ScalarType dtype() const { return patch_->weight.scalar_type(); }

 private:
  torch::Tensor embed_patches(const torch::Tensor& latents) const;
  torch::Tensor unpatchify(const torch::Tensor& tokens, std::int64_t rows, std::int64_t columns) const;

  Sd3Config config_;
  bool recompute_ = false;
  torch::nn::Conv2d patch_{nullptr};
  torch::Tensor position_table_;  ///< [1, max^2, width], a buffer
  Dense time_1_{nullptr}, time_2_{nullptr}, pooled_1_{nullptr}, pooled_2_{nullptr};
  Dense context_{nullptr}, out_modulation_{nullptr}, out_{nullptr};
  std::vector<std::shared_ptr<JointBlock>> blocks_;
};
TORCH_MODULE(Sd3Transformer);

/// Two-dimensional sine-cosine position table [1, size^2, width] as diffusers makes it for a grid of `size`
/// whose unit is `base`.
torch::Tensor sincos_position_table(std::int64_t width, std::int64_t size, std::int64_t base);

}  // namespace harness
