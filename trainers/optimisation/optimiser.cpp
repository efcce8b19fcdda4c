#include "trainers/optimisation/optimiser.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/error.h"

namespace harness {

double norm_clip(double norm, double limit) {
  return std::min(1.0, limit / (norm + 1e-6));
}

AdamW::AdamW(std::vector<NamedTensor> parameters, AdamWOptions options) : options_(options) {
  for (auto& p : parameters) {
    const auto weights = p.tensor.detach();
    slots_.push_back({std::move(p), torch::zeros_like(weights), torch::zeros_like(weights)});
  }
}

StepReport AdamW::step(std::span<const torch::Tensor> gradients, double max_grad_norm) {
  TORCH_CHECK(gradients.size() == slots_.size(), "AdamW: one gradient a parameter");
  StepReport report{.grad_norm = l2_norm(gradients)};
  if (!std::isfinite(report.grad_norm)) {
    throw Error(fmt::format("the gradient's norm is {}", report.grad_norm), "optimiser",
                "a smaller learning rate or clip radius may help", Status::kFailed);
  }
  report.clip_coefficient = norm_clip(report.grad_norm, max_grad_norm);
  const torch::NoGradGuard no_grad;
  std::vector<torch::Tensor> changes;
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    if (!gradients[i].defined()) continue;
    const auto before = slots_[i].parameter.tensor.clone();
    update(slots_[i], report.clip_coefficient < 1 ? gradients[i] * report.clip_coefficient : gradients[i]);
    changes.push_back(slots_[i].parameter.tensor - before);
  }
  report.update_norm = l2_norm(changes);
  return report;
}

// The operations and their order are those of torch.optim.adamw._single_tensor_adamw.
void AdamW::update(Slot& slot, const torch::Tensor& gradient) const {
  ++slot.step;
  auto& weights = slot.parameter.tensor;
  weights.mul_(1 - options_.lr * options_.weight_decay);
  slot.exp_avg.lerp_(gradient, 1 - options_.beta1);
  slot.exp_avg_sq.mul_(options_.beta2).addcmul_(gradient, gradient, 1 - options_.beta2);
  const auto step = static_cast<double>(slot.step);
  const double correction1 = 1 - std::pow(options_.beta1, step);
  const double correction2 = 1 - std::pow(options_.beta2, step);
  const auto denominator = (slot.exp_avg_sq.sqrt() / std::sqrt(correction2)).add_(options_.eps);
  weights.addcdiv_(slot.exp_avg, denominator, -options_.lr / correction1);
}

TensorMap AdamW::state() const {
  TensorMap state;
  std::vector<std::int64_t> steps;
  for (const auto& slot : slots_) {
    state["exp_avg." + slot.parameter.name] = slot.exp_avg;
    state["exp_avg_sq." + slot.parameter.name] = slot.exp_avg_sq;
    steps.push_back(slot.step);
  }
  state["step"] = torch::tensor(steps, torch::kInt64);
  return state;
}

void AdamW::restore(const TensorMap& state, const std::string& where) {
  auto steps = torch::empty({static_cast<std::int64_t>(slots_.size())}, torch::kInt64);
  restore_tensor(state, "step", steps, where);
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    auto& slot = slots_[i];
    restore_tensor(state, "exp_avg." + slot.parameter.name, slot.exp_avg, where);
    restore_tensor(state, "exp_avg_sq." + slot.parameter.name, slot.exp_avg_sq, where);
    slot.step = steps[static_cast<std::int64_t>(i)].item<std::int64_t>();
  }
}

}  // namespace harness
