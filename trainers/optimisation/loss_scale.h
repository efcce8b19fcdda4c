#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/json.h"
#include "models/nn/torch.h"
#include "trainers/optimisation/gradient_sum.h"

namespace harness {

/// The factor of a loss whose gradients pass through float16, where small ones would vanish, by the rule of
/// torch.amp.GradScaler: half after an update whose gradients left the range, twice after kGrowth updates in
/// a row that did not. A power of two: gradients that keep in range lose nothing by it.
class LossScale {
 public:
  static constexpr std::int64_t kGrowth = 2000;

  /// 1 for ever: gradients pass through wider numbers.
  LossScale() = default;
  explicit LossScale(double first) : factor_(first), moves_(true) {}

  double factor() const { return factor_; }
  bool moves() const { return moves_; }

  /// Derivatives of `loss` [] by the parameters; undefined: 0. Those of a scaled loss may be infinite or NaN.
  GradientSum::Gradients gradients(const torch::Tensor& loss,
                                   const std::vector<torch::Tensor>& parameters) const;

  /// After an update's gradients. Whether the optimiser's step is to be skipped, as their sum is not finite,
  /// and the next update has half the factor; never where none below 1 is left.
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
