#include "backbones/sd3_backbone.h"

namespace harness {

using torch::Tensor;

Sd3Backbone::Sd3Backbone(Sd3Transformer transformer, AutoencoderKl vae,
                         std::shared_ptr<PromptEncoder> encoder, LatentShape latent, torch::Device device)
    : Backbone(latent, device),
      transformer_(std::move(transformer)),
      vae_(std::move(vae)),
      encoder_(std::move(encoder)) {
  for (auto& p : vae_->parameters()) p.set_requires_grad(false);
  transformer_->to(device);
  vae_->to(device);
}

Tensor Sd3Backbone::velocity(const Tensor& latents, double sigma, const TextCondition& condition,
                             double guidance) {
  if (guidance != 1)
    return velocity(latents, sigma, condition, encoder_->encode_empty(latents.size(0)), guidance);
  const auto time = torch::full({latents.size(0)}, 1000 * sigma, latents.options());
  return transformer_->forward(latents.to(transformer_->dtype()), condition.text, condition.pooled, time)
      .to(torch::kFloat32);
}

Tensor Sd3Backbone::velocity(const Tensor& latents, double sigma, const TextCondition& condition,
                             const TextCondition& negative, double guidance) {
  const auto time = torch::full({2 * latents.size(0)}, 1000 * sigma, latents.options());
  const auto both = transformer_->forward(torch::cat({latents, latents}).to(transformer_->dtype()),
                                          torch::cat({negative.text, condition.text}),
                                          torch::cat({negative.pooled, condition.pooled}), time);
  const auto halves = both.to(torch::kFloat32).chunk(2);
  return halves[0] + guidance * (halves[1] - halves[0]);
}

}  // namespace harness
