#pragma once

#include "trainers/clip_rule.h"
#include "trainers/method.h"

namespace harness {

/// RatioNorm of GRPO-Guard (E13): ratio = exp((y + lambda_center / 2) s), loss divided by dt. The gradient
/// flows through lambda_center.
class RatioNorm : public Method {
 public:
  RatioNorm(Settings& settings, const MethodContext& context);
  Surrogate step(const StepStats& stats) const override;

  static std::vector<Setting> settings();

 private:
  ClipRadius clip_;
  bool
      batch_centring_;  // one lambda_center for the whole shard, as the public code's reduction over () gives
};

}  // namespace harness
