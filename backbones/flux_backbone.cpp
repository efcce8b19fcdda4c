#include "backbones/flux_backbone.h"

#include <fmt/format.h>

#include "core/error.h"

namespace harness {

using torch::Tensor;

FluxBackbone::FluxBackbone(FluxTransformer transformer, AutoencoderKl vae,
                           std::shared_ptr<PromptEncoder> encoder, LatentShape latent, torch::Device device)
    : Backbone(latent, device),
      transformer_(std::move(transformer)),
      vae_(std::move(vae)),
      encoder_(std::move(encoder)) {
  for (auto& p : vae_->parameters()) p.set_requires_grad(false);
  transformer_->to(device);
  vae_->to(device);
}

Tensor FluxBackbone::velocity(const Tensor& latents, double sigma, const TextCondition& condition,
                              double guidance) {
  const bool guided = transformer_->config().guidance_embeds;
  if (!guided && guidance != 1) {
    throw Error(fmt::format("is {}, and this network takes none (FLUX.1-schnell)", guidance), "guidance",
                "give 1");
  }
  const auto dtype = transformer_->dtype();
  const auto numbers = [&](double value) { return torch::full({latents.size(0)}, value, latents.options()); };
  const auto rows = latents.size(2), columns = latents.size(3);
  const auto image_ids = flux_image_ids(rows / 2, columns / 2, latents.device());
  const auto tokens =
      transformer_->forward({.tokens = packed_latents(latents).to(dtype),
                             .text = condition.text.to(dtype),
                             .pooled = condition.pooled.to(dtype),
                             .sigma = numbers(sigma),
                             .guidance = guided ? numbers(guidance) : Tensor(),
                             .image_ids = image_ids,
                             .text_ids = torch::zeros({condition.text.size(1), 3}, image_ids.options())});
  return unpacked_latents(tokens.to(torch::kFloat32), rows, columns);
}

}  // namespace harness
