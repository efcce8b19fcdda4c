#include "backbones/sd3_backbone.h"

namespace harness {

using torch::Tensor;

Tensor Sd3Backbone::velocity(const Tensor& latents, double sigma, const TextCondition& condition,
                             double guidance) {
  if (guidance != 1) return velocity(latents, sigma, condition, encode_empty(latents.size(0)), guidance);
  auto network = transformer();
  const auto time = torch::full({latents.size(0)}, 1000 * sigma, latents.options());
  return network->forward(latents.to(network->dtype()), condition.text, condition.pooled, time)
      .to(torch::kFloat32);
}

Tensor Sd3Backbone::velocity(const Tensor& latents, double sigma, const TextCondition& condition,
                             const TextCondition& negative, double guidance) {
  auto network = transformer();
  const auto time = torch::full({2 * latents.size(0)}, 1000 * sigma, latents.options());
  const auto both = network->forward(torch::cat({latents, latents}).to(network->dtype()),
                                     torch::cat({negative.text, condition.text}),
                                     torch::cat({negative.pooled, condition.pooled}), time);
  const auto halves = both.to(torch::kFloat32).chunk(2);
  return halves[0] + guidance * (halves[1] - halves[0]);
}

}  // namespace harness
