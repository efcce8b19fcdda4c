#include "trainers/ema.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"
#include "core/text.h"

namespace harness {
namespace {

double ramp(std::int64_t step) {
  return (1 + static_cast<double>(step)) / (10 + static_cast<double>(step));
}

}  // namespace

EmaRule parse_ema_rule(const std::string& name, const std::string& where) {
  if (name == "plain") return EmaRule::kPlain;
  if (name == "diffusers") return EmaRule::kDiffusers;
  if (name == "flow_grpo") return EmaRule::kFlowGrpo;
  throw Error(fmt::format("unknown moving average \"{}\"", name), where,
              suggestion(name, std::vector<std::string>{"plain", "diffusers", "flow_grpo"}));
}

Ema::Ema(const std::vector<NamedTensor>& weights, EmaOptions options) : options_(options) {
  TORCH_CHECK(options.interval > 0, "EMA interval must be positive");
  for (const auto& w : weights) averages_.push_back({w.name, w.tensor.detach().clone()});
}

double Ema::decay_now() const {
  if (options_.rule == EmaRule::kPlain) return options_.decay;
  if (options_.rule == EmaRule::kFlowGrpo) return std::min(ramp(updates_ - 1), options_.decay);
  const std::int64_t since = std::max<std::int64_t>(0, updates_ - options_.update_after_step - 1);
  return since == 0 ? 0.0 : std::min(ramp(since), options_.decay);
}

std::optional<double> Ema::update(const std::vector<NamedTensor>& weights) {
  TORCH_CHECK(weights.size() == averages_.size(), "EMA: other weights than it started with");
  ++updates_;
  if (updates_ % options_.interval != 0) return {};
  const double decay = decay_now();
  const torch::NoGradGuard no_grad;
  for (std::size_t i = 0; i < averages_.size(); ++i) {
    auto& average = averages_[i].tensor;
    if (options_.rule == EmaRule::kPlain) {
      average.mul_(decay).add_(weights[i].tensor, 1 - decay);
    } else {
      average.sub_((1 - decay) * (average - weights[i].tensor));
    }
  }
  return decay;
}

TensorMap Ema::state() const {
  TensorMap state;
  for (const auto& a : averages_) state["average." + a.name] = a.tensor.clone();
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
