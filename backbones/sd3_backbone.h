#pragma once

#include "backbones/latent_backbone.h"
#include "models/diffusion/sd3_transformer.h"

namespace harness {

/// Stable Diffusion 3, put together.
class Sd3Backbone : public LatentBackbone<Sd3Transformer> {
 public:
  using LatentBackbone::LatentBackbone;

  /// v_0 + g (v - v_0) with prompts of one's own for v_0, the unconditional half first in one batch of 2B;
  /// sigmas: [B] in float64.
  torch::Tensor guided_velocity(const torch::Tensor& latents, const torch::Tensor& sigmas,
                                const TextCondition& condition, const TextCondition& negative,
                                double guidance);

 protected:
  /// Guidance other than 1: guided_velocity with the empty prompt.
  torch::Tensor velocity_of(const torch::Tensor& latents, const torch::Tensor& sigmas,
                            const TextCondition& condition, double guidance) override;
  int evaluations_of(double guidance) const override { return guidance == 1 ? 1 : 2; }

 private:
  /// Latents, texts, pooled texts and times of a batch.
  GraphedNetwork network_{transformer().ptr(), [network = transformer()](const auto& in) mutable {
                            return network->forward(in[0], in[1], in[2], in[3]);
                          }};
};

}  // namespace harness
