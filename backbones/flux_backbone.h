#pragma once

#include "backbones/latent_backbone.h"
#include "models/diffusion/flux_transformer.h"

namespace harness {

/// FLUX.1, put together.
class FluxBackbone : public LatentBackbone<FluxTransformer> {
 public:
  using LatentBackbone::LatentBackbone;

  /// Guidance is an input of the network, which knows no unconditional prompt. Throws Error where it has no
  /// such input (FLUX.1-schnell) and guidance is other than 1.
  torch::Tensor velocity(const torch::Tensor& latents, double sigma, const TextCondition& condition,
                         double guidance) override;
};

}  // namespace harness
