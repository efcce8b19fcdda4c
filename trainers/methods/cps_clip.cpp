#include "trainers/methods/cps_clip.h"

#include <cmath>

namespace harness {
namespace {

constexpr double kPublicScale = 0.1;  // 1e-5 for the public log-probability, 1e-4 for exp(y)

}  // namespace

std::vector<Setting> CpsClip::settings() {
  return merged(plain_clip_settings("public: 1e-5 sqrt(65536 / D), for log_prob gaussian 1e-4 sqrt(65536 "
                                    "/ D); one-sigma: sqrt(tau / D), times 2 s_k^2 for log_prob public"),
                {{.name = "log_prob",
                  .default_value = "public",
                  .choices = {"public", "gaussian"},
                  .help = "public: -mean((x' - mu)^2), so that the ratio is exp(2 s_k^2 y); gaussian: the "
                          "step's log-density, so that it is exp(y)",
                  .equation = "E22"}});
}

CpsClip::CpsClip(Settings& settings, const MethodContext& context)
    : gaussian_(settings.choice("log_prob") == "gaussian"),
      one_sigma_(settings.choice("clip_rule") == "one-sigma"),
      clip_(plain_radius(settings, context, gaussian_ || one_sigma_ ? 1 : kPublicScale)) {}

Surrogate CpsClip::step(const StepStats& stats) const {
  const double f = factor(stats);
  return {.ratio = (stats.y * f).exp(),
          .clip = one_sigma_ ? clip_ * f : clip_,
          .slope = torch::full_like(stats.y.detach(), f)};
}

}  // namespace harness
