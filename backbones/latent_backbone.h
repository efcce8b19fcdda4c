#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
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
  torch::Tensor decoded(const torch::Tensor& latents) override {
    if (latents.is_cuda()) decode_once(latents);
    return vae_->decode_flow(latents);
  }

 private:
  /// A process' first decoding of a shape on a GPU is thrown away: on an H200 an image had other bits where
  /// it was in the first one, all others repeated (docs/gpu.md).
  void decode_once(const torch::Tensor& latents) {
    const std::lock_guard lock(first_decoding_);
    const torch::NoGradGuard no_grad;
    const auto side = vae_->config().reduction();
    const auto together = decoded_together(latents.size(2) * latents.size(3) * side * side);
    for (const auto& part : latents.detach().split(together)) {  // as decode_flow takes them
      if (decoded_shapes_.insert(part.sizes().vec()).second) vae_->decode_flow(part);
    }
  }

  Transformer transformer_;
  AutoencoderKl vae_;
  std::shared_ptr<PromptEncoder> encoder_;
  std::mutex first_decoding_;
  std::set<std::vector<std::int64_t>> decoded_shapes_;
};

}  // namespace harness
