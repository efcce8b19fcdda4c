#include "trainers/methods/plain_clip.h"

namespace harness {
namespace {

/// CISPO (MiniMax-M1, arXiv 2506.13585, for text): the ratio weighs the log-probability as a constant, and
/// what is clipped is this weight, so that every sample keeps a gradient:
///
///     loss = -w A y,  w = clip(r, 1 - eps_low, 1 + eps_high) held constant,  r = exp(y) (E12)
///
/// The paper has no lower limit in effect and tunes the upper one; it averages over the tokens of a group,
/// here over steps and images as every loss of a step.
class Cispo : public Method {
 public:
  Cispo(Settings& settings, const MethodContext& context)
      : eps_low_(settings.number_if_given("eps_low")),
        eps_high_(
            settings.number_if_given("eps_high").value_or(kPublicRadii * public_plain_radius(context))) {
    settings.report("eps_high", eps_high_);
  }

  Surrogate step(const StepStats& stats) const override {
    const auto held = stats.held().exp();
    auto weight = held.clamp_max(1 + eps_high_);
    if (eps_low_) weight = weight.clamp_min(1 - *eps_low_);
    return {.ratio = stats.y.exp(),
            .slope = torch::ones_like(held),
            .loss = -weight * stats.advantage * stats.y,
            .clipped = weight != held};
  }

  static std::vector<Setting> settings() {
    return {
        {.name = "eps_low",
         .minimum = 0,
         .maximum = 1,
         .help = "the weight is at least 1 - eps_low; default: no lower limit",
         .equation = "E12"},
        {.name = "eps_high",
         .minimum = 1e-12,
         .maximum = 1e6,
         .help = "the weight is at most 1 + eps_high; default: 3e-4 sqrt(65536 / D), three times the public "
                 "radius of exp(y)",
         .equation = "E12"}};
  }

 private:
  static constexpr double kPublicRadii = 3;

  std::optional<double> eps_low_;
  double eps_high_;
};

const bool kRegistered = register_method({
    .name = "cispo",
    .summary = "policy gradient weighted by the clipped ratio, so that no sample loses its gradient",
    .equations = "-w A y (E22), w = clip(exp(y), 1 - eps_low, 1 + eps_high) held constant",
    .settings = Cispo::settings(),
    .make = [](Settings& s, const MethodContext& c) { return std::make_unique<Cispo>(s, c); },
});

}  // namespace
}  // namespace harness
