#pragma once

#include <memory>
#include <vector>

#include "backbones/backbone.h"
#include "models/diffusion/autoencoder_kl.h"
#include "models/diffusion/sd3_transformer.h"

namespace harness {

/// Stable Diffusion 3's velocity network and image decoder with a text side, put together.
class Sd3Backbone : public Backbone {
 public:
  Sd3Backbone(Sd3Transformer transformer, AutoencoderKl vae, std::shared_ptr<PromptEncoder> encoder,
              LatentShape latent, torch::Device device);

  TextCondition encode(const std::vector<PromptText>& prompts) override { return encoder_->encode(prompts); }
  /// The unconditional prompt, `count` times.
  TextCondition encode_empty(std::int64_t count) { return encoder_->encode_empty(count); }
  void prepare(const std::vector<PromptText>& prompts) override { encoder_->prepare(prompts); }

  /// Guidance g other than 1: v_0 + g (v - v_0), the unconditional half first in one batch of 2B.
  torch::Tensor velocity(const torch::Tensor& latents, double sigma, const TextCondition& condition,
                         double guidance) override;
  /// The same with prompts of one's own in the unconditional half.
  torch::Tensor velocity(const torch::Tensor& latents, double sigma, const TextCondition& condition,
                         const TextCondition& negative, double guidance);

  torch::nn::Module& velocity_network() override { return *transformer_; }
  Sd3Transformer transformer() const { return transformer_; }
  AutoencoderKl autoencoder() const { return vae_; }

 protected:
  torch::Tensor decoded(const torch::Tensor& latents) override { return vae_->decode_flow(latents); }

 private:
  Sd3Transformer transformer_;
  AutoencoderKl vae_;
  std::shared_ptr<PromptEncoder> encoder_;
};

}  // namespace harness
