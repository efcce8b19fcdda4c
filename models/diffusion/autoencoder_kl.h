#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "models/configs/autoencoder_config.h"
#include "models/nn/parameters.h"
#include "models/nn/torch.h"

namespace harness {

class VaeEncoder;
class VaeDecoder;

/// How many images of so many pixels a GPU decodes together: one of 512 x 512, whose activations are a GB, or
/// more of smaller ones.
std::int64_t decoded_together(std::int64_t pixels);

/// The image autoencoder of SD3 and FLUX (arXiv:2112.10752), weights under diffusers' key names.
class AutoencoderKlImpl : public torch::nn::Module {
 public:
  explicit AutoencoderKlImpl(const AutoencoderConfig& config);

  /// image [B,3,H,W] in -1..1 -> mean, log variance (clamped to -30..20) [B,latent_channels,H/f,W/f].
  std::pair<torch::Tensor, torch::Tensor> encode(const torch::Tensor& image);

  /// latents [B,latent_channels,h,w], not scaled -> image [B,3,f h,f w], about -1..1.
  torch::Tensor decode(const torch::Tensor& latents);

  /// The same in overlapping tiles of `sample_size`, seams blended as diffusers does; for one tile equal.
  torch::Tensor decode_tiled(const torch::Tensor& latents);

  /// (mean - shift) * scaling: the space in which the flow model works; and back.
  torch::Tensor to_flow(const torch::Tensor& latents) const {
    return (latents - config_.shift_factor) * config_.scaling_factor;
  }
  torch::Tensor from_flow(const torch::Tensor& latents) const {
    return latents / config_.scaling_factor + config_.shift_factor;
  }

  /// Latents of the flow model -> images, about -1..1; of more than 1536 pixels a side in tiles. `together`
  /// at a time; 0: on a GPU decoded_together(), elsewhere all.
  torch::Tensor decode_flow(const torch::Tensor& latents, std::int64_t together = 0);

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
  Conv quant_{nullptr}, post_quant_{nullptr};
};
TORCH_MODULE(AutoencoderKl);

}  // namespace harness
