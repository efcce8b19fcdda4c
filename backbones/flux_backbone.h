#pragma once

#include <memory>
#include <vector>

#include "backbones/backbone.h"
#include "models/diffusion/autoencoder_kl.h"
#include "models/diffusion/flux_transformer.h"

namespace harness {

/// FLUX.1's velocity network and image decoder with a text side, put together.
class FluxBackbone : public Backbone {
 public:
  FluxBackbone(FluxTransformer transformer, AutoencoderKl vae, std::shared_ptr<PromptEncoder> encoder,
               LatentShape latent, torch::Device device);

  TextCondition encode(const std::vector<PromptText>& prompts) override { return encoder_->encode(prompts); }
  void prepare(const std::vector<PromptText>& prompts) override { encoder_->prepare(prompts); }

  /// Guidance is an input of the network, which knows no unconditional prompt. Throws Error where it has no
  /// such input (FLUX.1-schnell) and guidance is other than 1.
  torch::Tensor velocity(const torch::Tensor& latents, double sigma, const TextCondition& condition,
                         double guidance) override;

  torch::nn::Module& velocity_network() override { return *transformer_; }
  FluxTransformer transformer() const { return transformer_; }
  AutoencoderKl autoencoder() const { return vae_; }

 protected:
  torch::Tensor decoded(const torch::Tensor& latents) override { return vae_->decode_flow(latents); }

 private:
  FluxTransformer transformer_;
  AutoencoderKl vae_;
  std::shared_ptr<PromptEncoder> encoder_;
};

}  // namespace harness
