#pragma once

#include "trainers/methods/plain_clip.h"

namespace harness {

/// The ratio of steps by coefficients-preserving sampling. The public log-probability is -mean((x' - mu)^2),
/// without 1 / (2 s^2): ratio = exp(2 s^2 y), no likelihood ratio, and step k weighs 2 s_k^2 as much.
class CpsClip : public Method {
 public:
  CpsClip(Settings& settings, const MethodContext& context);
  Surrogate step(const StepStats& stats) const override;

  static std::vector<Setting> settings();

 private:
  double factor(const StepStats& stats) const { return gaussian_ ? 1 : 2 * stats.s * stats.s; }

  bool gaussian_, one_sigma_;
  double clip_;  // over `factor` where one_sigma_
};

}  // namespace harness
