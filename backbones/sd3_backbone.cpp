#include "backbones/sd3_backbone.h"

#include "models/nn/device.h"

namespace harness {

using torch::Tensor;

Tensor Sd3Backbone::velocity_of(const Tensor& latents, const Tensor& sigmas, const TextCondition& condition,
                                double guidance) {
  if (guidance != 1)
    return guided_velocity(latents, sigmas, condition, encode_empty(latents.size(0)), guidance);
  const auto time = sent(1000 * sigmas, latents.options());
  return network_({latents.to(transformer()->dtype()), condition.text, condition.pooled, time})
      .to(torch::kFloat32);
}

Tensor Sd3Backbone::guided_velocity(const Tensor& latents, const Tensor& sigmas,
                                    const TextCondition& condition, const TextCondition& negative,
                                    double guidance) {
  const auto time = sent(1000 * sigmas, latents.options());
  const auto both = network_({torch::cat({latents, latents}).to(transformer()->dtype()),
                              torch::cat({negative.text, condition.text}),
                              torch::cat({negative.pooled, condition.pooled}), torch::cat({time, time})});
  const auto halves = both.to(torch::kFloat32).chunk(2);
  return halves[0] + guidance * (halves[1] - halves[0]);
}

}  // namespace harness
