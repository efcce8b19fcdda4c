#include "trainers/optimisation/loss_scale.h"

#include <cmath>

#include "core/error.h"
#include "trainers/optimisation/named_tensors.h"

namespace harness {

using torch::Tensor;

GradientSum::Gradients LossScale::gradients(const Tensor& loss, const std::vector<Tensor>& parameters) const {
  const auto of = [&parameters](const Tensor& scaled) {
    return torch::autograd::grad({scaled}, parameters, {}, std::nullopt, false, true);
  };
  if (factor_ == 1) return of(loss);
  auto found = of(loss * factor_);
  const torch::NoGradGuard no_grad;
  for (auto& gradient : found) {
    if (gradient.defined()) gradient = gradient / factor_;
  }
  return found;
}

bool LossScale::skips(const GradientSum::Gradients& sum) {
  if (!moves_) return false;
  const bool is_finite = std::isfinite(l2_norm(sum));
  if (!is_finite && factor_ <= 1) return false;
  if (++kept_ < kGrowth && is_finite) return false;
  kept_ = 0;
  factor_ *= is_finite ? 2 : 0.5;
  return !is_finite;
}

Json LossScale::state() const {
  return {factor_, kept_};
}

void LossScale::restore(const Json& state, const std::string& where) {
  if (!state.is_array() || state.size() != 2 || !state[0].is_number() || !state[1].is_number_integer())
    throw Error("\"loss_scale\" is not a factor and a count", where);
  factor_ = state[0].get<double>();
  kept_ = state[1].get<std::int64_t>();
}

}  // namespace harness
