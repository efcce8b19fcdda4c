#pragma once

#include "trainers/methods/plain_clip.h"

namespace harness {

/// The noise-aware weights of TempFlow-GRPO (arXiv 2508.04324; Shredded-Pork/TempFlow-GRPO, train_sd3_pr.py),
/// without its branches: step k of Flow-GRPO (E12) weighs s_k / mean of s over the trained steps, plus
/// beta mean((mu - mu_ref)^2) / (2 s_k^2), which is not weighted.
///
/// The public factor is 2.25 s_k, and 2.25 = 1 / mean(s_0 .. s_8) on SD3.5's grid of 10 steps at noise 0.7.
/// Public beta: 0.004 for GenEval and OCR, 0.001 for PickScore. The divisor of flow-grpo-kl has no dt: at
/// dt = 0.1 the same beta acts here as ten times as much does there.
class TempflowWeight : public PlainClip {
 public:
  TempflowWeight(Settings& settings, const MethodContext& context)
      : PlainClip(settings, context), kl_(settings.number("kl_weight")) {}

  std::vector<double> step_weights(std::span<const double> s) const override;

  std::optional<ReferenceKl> reference_kl() const override {
    return ReferenceKl{.weight = kl_, .per_step_variance = true};
  }

  static std::vector<Setting> settings();

 private:
  double kl_;
};

}  // namespace harness
