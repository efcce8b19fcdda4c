#pragma once

#include "backbones/latent_backbone.h"
#include "models/diffusion/sd3_transformer.h"

namespace harness {

/// Stable Diffusion 3, put together.
class Sd3Backbone : public LatentBackbone<Sd3Transformer> {
 public:
  using LatentBackbone::LatentBackbone;

  /// Guidance g other than 1: v_0 + g (v - v_0), the unconditional half first in one batch of 2B.
  torch::Tensor velocity(const torch::Tensor& latents, double sigma, const TextCondition& condition,
                         double guidance) override;
  /// The same with prompts of one's own in the unconditional half.
  torch::Tensor velocity(const torch::Tensor& latents, double sigma, const TextCondition& condition,
                         const TextCondition& negative, double guidance);
};

}  // namespace harness
