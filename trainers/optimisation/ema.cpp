#include "trainers/optimisation/ema.h"

#include <algorithm>
#include <cmath>

namespace harness {
namespace {

double ramp(std::int64_t step) {
  return (1 + static_cast<double>(step)) / (10 + static_cast<double>(step));
}

/// The counter whose multiples of the interval are when the average acts.
std::int64_t clock_of(const EmaOptions& options, std::int64_t updates) {
  const bool is_public_loop = options.rule == EmaRule::kFlowGrpo && options.repeats > 1;
  return is_public_loop ? updates + 1 : updates;
}

/// Decay of the average after update `updates`; empty if the interval skips it.
std::optional<double> decay_after(const EmaOptions& options, std::int64_t updates) {
  const auto clock = clock_of(options, updates);
  if (clock % options.interval != 0) return {};
  if (options.rule == EmaRule::kPlain) return options.decay;
  if (options.rule == EmaRule::kFlowGrpo) return std::min(ramp(clock - 1), options.decay);
  const std::int64_t since = std::max<std::int64_t>(0, updates - options.update_after_step - 1);
  return since == 0 ? 0.0 : std::min(ramp(since), options.decay);
}

}  // namespace

Ema::Ema(const std::vector<NamedTensor>& weights, EmaOptions options)
    : averages_(copies_of(weights)), options_(options) {
  TORCH_CHECK(options.interval > 0 && options.repeats > 0, "EMA interval and repeats must be positive");
}

EmaLag ema_lag(const EmaOptions& options, std::int64_t updates) {
  EmaLag lag;
  for (std::int64_t update = 1; update <= updates; ++update) {
    ++lag.updates;  // everything ages by one update; new weights have age 0
    const auto decay = decay_after(options, update);
    if (!decay) continue;
    const double kept = std::pow(*decay, options.repeats);
    lag.updates *= kept;
    lag.start_share *= kept;
  }
  return lag;
}

std::optional<double> Ema::update(const std::vector<NamedTensor>& weights) {
  TORCH_CHECK(weights.size() == averages_.size(), "EMA: other weights than it started with");
  ++updates_;
  const auto decay = decay_after(options_, updates_);
  if (!decay || averages_.empty()) return decay;
  const torch::NoGradGuard no_grad;
  std::vector<torch::Tensor> averages, present;
  for (std::size_t i = 0; i < averages_.size(); ++i) {
    averages.push_back(averages_[i].tensor);
    present.push_back(weights[i].tensor.detach());
  }
  for (int repeat = 0; repeat < options_.repeats; ++repeat) {
    if (options_.rule == EmaRule::kPlain) {
      at::_foreach_mul_(averages, *decay);
      at::_foreach_add_(averages, present, 1 - *decay);
    } else {
      const auto apart = at::_foreach_sub(averages, present);
      at::_foreach_sub_(averages, at::_foreach_mul(apart, 1 - *decay));
    }
  }
  return decay;
}

TensorMap Ema::state() const {
  TensorMap state;
  for (const auto& a : averages_) state["average." + a.name] = a.tensor;
  state["updates"] = torch::tensor(updates_, torch::kInt64);
  return state;
}

void Ema::restore(const TensorMap& state, const std::string& where) {
  auto updates = torch::empty({}, torch::kInt64);
  restore_tensor(state, "updates", updates, where);
  for (auto& a : averages_) restore_tensor(state, "average." + a.name, a.tensor, where);
  updates_ = updates.item<std::int64_t>();
}

}  // namespace harness
