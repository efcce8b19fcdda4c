#include "backbones/flux_backbone.h"

#include <fmt/format.h>

#include "core/error.h"
#include "models/nn/device.h"

namespace harness {

using torch::Tensor;

FluxBackbone::FluxBackbone(FluxTransformer transformer, AutoencoderKl vae,
                           std::shared_ptr<PromptEncoder> encoder, LatentShape latent, torch::Device device,
                           const SchedulerConfig& scheduler, int steps)
    : LatentBackbone(std::move(transformer), std::move(vae), std::move(encoder), latent, device),
      scheduler_(scheduler),
      steps_(steps) {}

std::optional<UsualSampler> FluxBackbone::usual_sampler() const {
  const double shift = scheduler_.shift_for(image_tokens());
  if (!transformer()->config().guidance_embeds) return UsualSampler{.steps = 4, .shift = shift};
  return UsualSampler{.steps = steps_, .guidance = 3.5, .shift = shift};
}

Tensor FluxBackbone::velocity_of(const Tensor& latents, const Tensor& sigmas, const TextCondition& condition,
                                 double guidance) {
  const bool guided = transformer()->config().guidance_embeds;
  if (!guided && guidance != 1) {
    throw Error(fmt::format("is {}, and this network takes none (FLUX.1-schnell)", guidance), "guidance",
                "give 1");
  }
  std::vector<Tensor> inputs = {latents, condition.text, condition.pooled, sent(sigmas, latents.options())};
  if (guided) inputs.push_back(torch::full({latents.size(0)}, guidance, latents.options()));
  return network_(inputs);
}

}  // namespace harness
