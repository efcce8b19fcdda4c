#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "backbones/backbone.h"
#include "models/diffusion/autoencoder_kl.h"
#include "models/graphs/graphed_network.h"

namespace harness {

/// A velocity network, the image decoder of its latents and a text side, put together. How the network is
/// called is left to the family.
template <class Transformer>
class LatentBackbone : public Backbone {
 public:
  LatentBackbone(Transformer transformer, AutoencoderKl vae, std::shared_ptr<PromptEncoder> encoder,
                 LatentShape latent, torch::Device device)
      : Backbone(latent, device),
        transformer_(std::move(transformer)),
        vae_(std::move(vae)),
        encoder_(std::move(encoder)) {
    for (auto& p : vae_->parameters()) p.set_requires_grad(false);
    transformer_->to(device);
    vae_->to(device);
  }

  TextCondition encode(const std::vector<PromptText>& prompts) override { return encoder_->encode(prompts); }
  /// The unconditional prompt, `count` times.
  TextCondition encode_empty(std::int64_t count) { return encoder_->encode_empty(count); }

  torch::nn::Module& velocity_network() override { return *transformer_; }
  Transformer transformer() const { return transformer_; }
  AutoencoderKl autoencoder() const { return vae_; }

 protected:
  torch::Tensor decoded(const torch::Tensor& latents) override { return vae_->decode_flow(latents); }

 private:
  Transformer transformer_;
  AutoencoderKl vae_;
  std::shared_ptr<PromptEncoder> encoder_;
};

}  // namespace harness
