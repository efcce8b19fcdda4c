#include <fmt/format.h>

#include "trainers/direct/direct_method.h"
#include "trainers/forward/method_settings.h"

namespace harness {
namespace {

/// ReFL (arXiv 2304.05977; THUDM/ImageReward, ReFL.py) for flows: Euler's steps without gradient to a late
/// step j, one evaluation there with gradient, and what the clean image would be:
///
///     x0 = x_j - sigma_j v(x_j),  loss = mean max(0, margin - reward(x0)),  d x0 / d v = -sigma_j
///
/// Public numbers: Stable Diffusion 1.4, j uniform in 30 to 39 of 40 steps, margin 2 on ImageReward's scale,
/// loss times 0.001 beside the pretraining's. Here j is one draw a shard and epoch, of the last quarter of
/// the steps, and there is no pretraining loss.
class Refl : public DirectMethod {
 public:
  Refl(Settings& settings, const MethodContext& context)
      : first_(whole_or(settings, "first_step", 3 * context.sampling_steps / 4)),
        last_(context.sampling_steps - 1),
        margin_(settings.number("margin")) {
    if (first_ > last_)
      settings.fail("first_step", fmt::format("is {}, behind the last step, {}", first_, last_),
                    "lower it, or raise sampling_steps");
  }

  std::vector<DirectImages> images(const DirectSampling& sampling) const override {
    const int j = sampling.drawn(0, first_, last_);
    const double sigma = sampling.sigmas()[static_cast<std::size_t>(j)];
    const auto x = sampling.sampled(j);
    const auto t = torch::full({x.size(0)}, sigma, torch::kFloat64);
    return {{.clean = one_step_clean(x, t, sampling.velocity(x, sigma))}};
  }

  torch::Tensor loss(const torch::Tensor& reward) const override { return margin_loss(margin_, reward); }

 private:
  int first_, last_;
  double margin_;
};

const bool kRegistered = register_method({
    .name = "refl",
    .summary = "gradient of the reward of the clean image that one late step predicts",
    .equations = "loss = max(0, margin - reward(x_j - sigma_j v)) (arXiv 2304.05977)",
    .settings = {{.name = "first_step",
                  .minimum = 0,
                  .maximum = 1000,
                  .help = "j is drawn from this step to the last; default: three quarters of sampling_steps"},
                 margin_setting(2.0)},
    .make = [](Settings& s, const MethodContext& c) { return std::make_unique<Refl>(s, c); },
});

}  // namespace
}  // namespace harness
