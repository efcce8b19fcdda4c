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
  std::vector<torch::Tensor> moved, added;
  std::vector<Slot*> slots;
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    if (!gradients[i].defined()) continue;
    slots.push_back(&slots_[i]);
    moved.push_back(slots_[i].parameter.tensor);
    added.push_back(gradients[i]);
  }
  if (slots.empty()) return report;
  std::vector<torch::Tensor> before;
  for (const auto& weights : moved) before.push_back(weights.clone());
  if (report.clip_coefficient < 1) added = at::_foreach_mul(added, report.clip_coefficient);
  update(slots, moved, added);
  report.update_norm = l2_norm(at::_foreach_sub(moved, before));
  return report;
}

// The operations and their order are those of torch.optim.adamw._single_tensor_adamw; each is one for all
// tensors, which a GPU runs in a few launches.
void AdamW::update(const std::vector<Slot*>& slots, const std::vector<torch::Tensor>& weights,
                   const std::vector<torch::Tensor>& gradients) const {
  std::vector<torch::Tensor> exp_avg, exp_avg_sq;
  std::vector<at::Scalar> roots, rates;  // of the corrections of both moments, by each tensor's own steps
  for (auto* slot : slots) {
    const auto step = static_cast<double>(++slot->step);
    exp_avg.push_back(slot->exp_avg);
    exp_avg_sq.push_back(slot->exp_avg_sq);
    roots.emplace_back(std::sqrt(1 - std::pow(options_.beta2, step)));
    rates.emplace_back(-options_.lr / (1 - std::pow(options_.beta1, step)));
  }
  at::_foreach_mul_(weights, 1 - options_.lr * options_.weight_decay);
  at::_foreach_lerp_(exp_avg, gradients, 1 - options_.beta1);
  at::_foreach_mul_(exp_avg_sq, options_.beta2);
  at::_foreach_addcmul_(exp_avg_sq, gradients, gradients, 1 - options_.beta2);
  auto denominators = at::_foreach_sqrt(exp_avg_sq);
  at::_foreach_div_(denominators, roots);
  at::_foreach_add_(denominators, options_.eps);
  at::_foreach_addcdiv_(weights, exp_avg, denominators, rates);
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
