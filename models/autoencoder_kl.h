#pragma once

#include <torch/torch.h>

#include <cstdint>
#include <string>
#include <vector>

#include "core/json.h"

namespace harness {

/// Flags of diffusers' AutoencoderKL (config.json).
struct AutoencoderConfig {
  std::int64_t in_channels = 3;
  std::int64_t out_channels = 3;
  std::vector<std::int64_t> block_out_channels = {128, 256, 512, 512};
  std::int64_t layers_per_block = 2;
  std::int64_t latent_channels = 16;
  std::int64_t norm_num_groups = 32;
  std::int64_t sample_size = 1024;
  double scaling_factor = 1.5305;
  double shift_factor = 0.0609;
  bool use_quant_conv = false;
  bool use_post_quant_conv = false;
  bool mid_block_add_attention = true;
  bool force_upcast = true;

  /// Pixels a latent row or column stands for.
  std::int64_t reduction() const { return std::int64_t{1} << (block_out_channels.size() - 1); }

  static AutoencoderConfig from_json(const Json& document, const std::string& where);
  Json to_json() const;
};

class VaeEncoder;
class VaeDecoder;

/// The image autoencoder of SD3 and FLUX (arXiv:2112.10752), weights under diffusers' key names.
class AutoencoderKlImpl : public torch::nn::Module {
 public:
  explicit AutoencoderKlImpl(const AutoencoderConfig& config);

  /// image [B,3,H,W] in -1..1 -> mean and log variance (clamped to -30..20), each
  /// [B,latent_channels,H/f,W/f].
  std::pair<torch::Tensor, torch::Tensor> encode(const torch::Tensor& image);

  /// latents [B,latent_channels,h,w] as the encoder gives them (not scaled) -> image [B,3,f h,f w], about
  /// -1..1.
  torch::Tensor decode(const torch::Tensor& latents);

  /// The same for latents larger than the autoencoder was made for (sample_size), in overlapping tiles of
  /// that size whose seams are blended, as diffusers does: the memory of one tile. Equal to decode() where
  /// one tile suffices.
  torch::Tensor decode_tiled(const torch::Tensor& latents);

  /// (mean - shift) * scaling: the space in which the flow model works; and back.
  torch::Tensor to_flow(const torch::Tensor& latents) const {
    return (latents - config_.shift_factor) * config_.scaling_factor;
  }
  torch::Tensor from_flow(const torch::Tensor& latents) const {
    return latents / config_.scaling_factor + config_.shift_factor;
  }

  const AutoencoderConfig& config() const { return config_; }
  void set_scaling(double scaling, double shift) {
    config_.scaling_factor = scaling;
    config_.shift_factor = shift;
  }
  std::vector<torch::Tensor> decoder_parameters() const;

 private:
  AutoencoderConfig config_;
  std::shared_ptr<VaeEncoder> encoder_;
  std::shared_ptr<VaeDecoder> decoder_;
  torch::nn::Conv2d quant_{nullptr}, post_quant_{nullptr};
};
TORCH_MODULE(AutoencoderKl);

}  // namespace harness
