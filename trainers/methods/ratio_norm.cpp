#include "trainers/methods/ratio_norm.h"

namespace harness {

std::vector<Setting> RatioNorm::settings() {
  return merged(
      clip_settings(RatioFamily::kRatioNorm),
      {retention_setting(),
       {.name = "centring",
        .default_value = "sample",
        .choices = {"sample", "batch"},
        .help = "lambda_center that the ratio is centred with: each sample's own, or the mean over the "
                "micro-batch as in the public code",
        .equation = "E13"}});
}

RatioNorm::RatioNorm(Settings& settings, const MethodContext& context)
    : clip_(clip_radius(settings, context, RatioFamily::kRatioNorm)),
      batch_centring_(settings.choice("centring") == "batch") {}

Surrogate RatioNorm::step(const StepStats& stats) const {
  const auto center = batch_centring_ ? stats.lambda_center.mean() : stats.lambda_center;
  return {.ratio = ((stats.y + center / 2) * stats.s).exp(),
          .clip = clip_.at(stats),
          .scale = 1 / stats.dt,
          .slope = torch::full_like(stats.y.detach(), stats.s)};
}

namespace {

const bool kRegistered = register_method({
    .name = "ratio-norm",
    .summary = "GRPO-Guard: centred ratio in units of the step's noise, loss divided by the step size",
    .equations = "r = exp((y + lambda_center / 2) s_k), loss / dt_k (E13)",
    .settings = RatioNorm::settings(),
    .make = [](Settings& s, const MethodContext& c) { return std::make_unique<RatioNorm>(s, c); },
});

}  // namespace
}  // namespace harness
