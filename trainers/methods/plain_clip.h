#pragma once

#include "trainers/clip_rule.h"
#include "trainers/method.h"

namespace harness {

/// clip_radius of kPlain times `scale`, which clip_rule absolute leaves out. Reports `clip`.
double plain_radius(Settings& settings, const MethodContext& context, double scale = 1);

/// clip_settings of kPlain with what they need; `rule` in place of the help's list of rules.
std::vector<Setting> plain_clip_settings(const std::string& rule = {});

/// Flow-GRPO's loss (E12): ratio = exp(y), clipped. What methods share that change something else.
class PlainClip : public Method {
 public:
  PlainClip(Settings& settings, const MethodContext& context) : clip_(plain_radius(settings, context)) {}
  Surrogate step(const StepStats& stats) const override;

  static std::vector<Setting> settings() { return plain_clip_settings(); }

 private:
  double clip_;
};

}  // namespace harness
