#include "trainers/clip_rule.h"
#include "trainers/method.h"

namespace harness {
namespace {

/// Flow-GRPO (E12): ratio = exp(y), y the mean-reduced log-ratio.
class FlowGrpo : public Method {
 public:
  FlowGrpo(Settings& settings, const MethodContext& context)
      : clip_(clip_radius(settings, context, RatioFamily::kPlain)) {}

  Surrogate step(const StepStats& stats) const override {
    return {.ratio = stats.y.exp(), .clip = clip_.at(stats), .slope = torch::ones_like(stats.y.detach())};
  }

 private:
  ClipRadius clip_;
};

const bool kRegistered = register_method({
    .name = "flow-grpo",
    .summary = "clipped policy gradient on the mean-reduced ratio",
    .equations = "r = exp(y) (E12)",
    .settings = merged(clip_settings(RatioFamily::kPlain), {retention_setting()}),
    .make = [](Settings& s, const MethodContext& c) { return std::make_unique<FlowGrpo>(s, c); },
});

}  // namespace
}  // namespace harness
