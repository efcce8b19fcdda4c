#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/json.h"
#include "models/nn/torch.h"
#include "trainers/optimisation/gradient_sum.h"

namespace harness {

/// The loss scale of a network in float16, by the rule of torch.amp.GradScaler: half after an update whose
/// gradients overflowed, twice after kGrowth updates in a row that did not.
class LossScale {
 public:
  static constexpr std::int64_t kGrowth = 2000;

  /// Constant 1, for wider types.
  LossScale() = default;
  explicit LossScale(double first) : factor_(first), moves_(true) {}

  double factor() const { return factor_; }
  bool moves() const { return moves_; }

  /// Derivatives of `loss` [] by the parameters; undefined: 0. May be infinite or NaN.
  GradientSum::Gradients gradients(const torch::Tensor& loss,
                                   const std::vector<torch::Tensor>& parameters) const;

  /// Updates the factor by an update's gradients. Whether their sum is not finite and the optimiser's step
  /// must be skipped; never once the factor is 1.
  bool skips(const GradientSum::Gradients& sum);

  Json state() const;
  /// Throws Error (`where`: the file) for a state of another form.
  void restore(const Json& state, const std::string& where);

 private:
  double factor_ = 1;
  bool moves_ = false;
  std::int64_t kept_ = 0;  ///< updates since the factor changed
};

}  // namespace harness
