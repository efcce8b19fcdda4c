#include "backbones/flux_backbone.h"

#include <fmt/format.h>

#include "core/error.h"

namespace harness {

using torch::Tensor;

Tensor FluxBackbone::velocity(const Tensor& latents, double sigma, const TextCondition& condition,
                              double guidance) {
  auto network = transformer();
  const bool guided = network->config().guidance_embeds;
  if (!guided && guidance != 1) {
    throw Error(fmt::format("is {}, and this network takes none (FLUX.1-schnell)", guidance), "guidance",
                "give 1");
  }
  const auto numbers = [&](double value) { return torch::full({latents.size(0)}, value, latents.options()); };
  return network->velocity(latents, condition.text, condition.pooled, numbers(sigma),
                           guided ? numbers(guidance) : Tensor());
}

}  // namespace harness
