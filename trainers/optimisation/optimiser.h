#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "trainers/optimisation/named_tensors.h"

namespace harness {

struct AdamWOptions {
  double lr = 3e-4;
  double beta1 = 0.9, beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 1e-4;
};

struct StepReport {
  double grad_norm = 0;         ///< global norm of the gradients, before clipping
  double clip_coefficient = 1;  ///< what they were multiplied by; below 1: the norm clip acted
  double update_norm = 0;       ///< norm of the change of all weights
};

/// The factor of a gradient clipped to `limit`: min(1, limit / (norm + 1e-6)), as clip_grad_norm_.
double norm_clip(double norm, double limit);

/// torch.optim.AdamW after clipping by the global norm. The state restores bitwise.
class AdamW {
 public:
  /// The parameters are updated in place.
  AdamW(std::vector<NamedTensor> parameters, AdamWOptions options);

  /// One step. gradients: one per parameter; an undefined one leaves its parameter and moments unchanged.
  /// Throws Error (Status::kFailed) if the global norm is not finite, and then changes nothing.
  StepReport step(std::span<const torch::Tensor> gradients, double max_grad_norm);

  void set_lr(double lr) { options_.lr = lr; }

  /// "exp_avg.NAME", "exp_avg_sq.NAME" and "step" [parameters] int64.
  TensorMap state() const;
  /// Throws Error (`where`: the file) for a state of other parameters.
  void restore(const TensorMap& state, const std::string& where);

 private:
  struct Slot {
    NamedTensor parameter;
    torch::Tensor exp_avg = {}, exp_avg_sq = {};
    std::int64_t step = 0;
  };
  void update(const std::vector<Slot*>& slots, const std::vector<torch::Tensor>& weights,
              const std::vector<torch::Tensor>& gradients) const;

  std::vector<Slot> slots_;
  AdamWOptions options_;
};

}  // namespace harness
