#include "trainers/methods/plain_clip.h"

#include <algorithm>

namespace harness {

double plain_radius(Settings& settings, const MethodContext& context, double scale) {
  double radius = clip_radius(settings, context, RatioFamily::kPlain).constant;
  if (settings.choice("clip_rule") != "absolute") radius *= scale;
  settings.report("clip", radius);
  return radius;
}

std::vector<Setting> plain_clip_settings(const std::string& rule) {
  auto all = merged(clip_settings(RatioFamily::kPlain), {retention_setting()});
  if (!rule.empty())
    std::ranges::find(all, "clip_rule", &Setting::name)->help =
        "where the radius comes from; " + rule + "; absolute: clip as given";
  return all;
}

Surrogate PlainClip::step(const StepStats& stats) const {
  return {.ratio = stats.y.exp(), .clip = clip_, .slope = torch::ones_like(stats.y.detach())};
}

}  // namespace harness
