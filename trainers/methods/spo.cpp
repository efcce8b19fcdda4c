#include "trainers/methods/plain_clip.h"

namespace harness {
namespace {

std::vector<Setting> radius_settings() {
  return plain_clip_settings(
      "public: 1e-4 sqrt(65536 / D), which is flow-grpo's: no public number for flows; "
      "one-sigma: sqrt(tau / D)");
}

/// [B] -A r + |A| (r - 1)^2 / (2 e): its gradient at r = 1 is the clip's, its minimum r = 1 + sign(A) e.
torch::Tensor quadratic_loss(const torch::Tensor& ratio, const torch::Tensor& advantage, double e) {
  return -advantage * ratio + advantage.abs() * (ratio - 1).square() / (2 * e);
}

/// SPO (arXiv 2401.16025; for language DRPO, arXiv 2606.09821, Tencent-Hunyuan/UniRL algorithms/drpo.py, with
/// a factor of a token's probability besides): a quadratic in place of the clip, r = exp(y). No sample is
/// clipped; one that has moved beyond 1 + sign(A) e is pulled back.
class Spo : public Method {
 public:
  Spo(Settings& settings, const MethodContext& context) : radius_(plain_radius(settings, context)) {}

  Surrogate step(const StepStats& stats) const override {
    const auto ratio = stats.y.exp();
    return {.ratio = ratio,
            .slope = torch::ones_like(stats.y.detach()),
            .loss = quadratic_loss(ratio, stats.advantage, radius_)};
  }

 private:
  double radius_;
};

/// ASPO of FPO++ (arXiv 2602.02481): the clip (E12) for A >= 0, SPO's quadratic for A < 0. There it helps
/// training from scratch and hurts fine-tuning. The recorded clip fraction is of both signs.
class Aspo : public Method {
 public:
  Aspo(Settings& settings, const MethodContext& context) : radius_(plain_radius(settings, context)) {}

  Surrogate step(const StepStats& stats) const override {
    const auto& advantage = stats.advantage;
    const auto ratio = stats.y.exp();
    return {.ratio = ratio,
            .clip = radius_,
            .slope = torch::ones_like(stats.y.detach()),
            .loss = torch::where(advantage < 0, quadratic_loss(ratio, advantage, radius_),
                                 clipped_loss(ratio, radius_, advantage))};
  }

 private:
  double radius_;
};

const bool kSpo = register_method({
    .name = "spo",
    .summary = "a quadratic in the ratio, with its minimum at the radius, in place of the clip",
    .equations = "-A r + |A| (r - 1)^2 / (2 e), r = exp(y)",
    .settings = radius_settings(),
    .make = [](Settings& s, const MethodContext& c) { return std::make_unique<Spo>(s, c); },
});

const bool kAspo = register_method({
    .name = "aspo",
    .summary = "spo's quadratic for negative advantages, the clip for the others",
    .equations = "A < 0: -A r + |A| (r - 1)^2 / (2 e); else clipped r (E12); r = exp(y)",
    .settings = radius_settings(),
    .make = [](Settings& s, const MethodContext& c) { return std::make_unique<Aspo>(s, c); },
});

}  // namespace
}  // namespace harness
