#include <fmt/format.h>

#include "trainers/direct/direct_method.h"
#include "trainers/sampling/sde.h"

namespace harness {
namespace {

/// DRaFT-K (arXiv 2309.17400): the gradient of the finished image's reward through the last k of the K Euler
/// steps (E2); the others are taken without gradient.
///
///     loss = -mean reward(x_K);  k = 1: d x_K / d v_{K-1} = sigma_K - sigma_{K-1}
///
/// The paper's usual k is 1. Its DRaFT is k = K; its DRaFT-LV, which averages the gradient of a last step
/// over fresh noise, is not here.
class DraftK : public DirectMethod {
 public:
  DraftK(Settings& settings, const MethodContext& context) : k_(settings.get<int>("k")) {
    if (k_ > context.sampling_steps)
      settings.fail("k", fmt::format("is {}, more than the {} sampling steps", k_, context.sampling_steps),
                    "lower it, or raise sampling_steps");
  }

  std::vector<DirectImages> images(const DirectSampling& sampling) const override {
    const auto& sigmas = sampling.sigmas();
    auto x = sampling.sampled(sampling.steps() - k_);
    for (auto i = sigmas.size() - 1 - static_cast<std::size_t>(k_); i + 1 < sigmas.size(); ++i)
      x = euler_step(sigmas[i], sigmas[i + 1], x, sampling.velocity(x, sigmas[i]));
    return {{.clean = x}};
  }

  torch::Tensor loss(const torch::Tensor& reward) const override { return -reward; }

 private:
  int k_;
};

const bool kRegistered = register_method({
    .name = "draft-k",
    .summary = "gradient of the finished image's reward through the last k sampling steps",
    .equations = "loss = -reward(x_K), through the last k steps of E2 (arXiv 2309.17400)",
    .settings = {{.name = "k",
                  .default_value = 1,
                  .minimum = 1,
                  .maximum = 1000,
                  .help = "the last steps, which are taken with gradient; memory grows with it"}},
    .make = [](Settings& s, const MethodContext& c) { return std::make_unique<DraftK>(s, c); },
});

}  // namespace
}  // namespace harness
