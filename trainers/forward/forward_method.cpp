#include "trainers/forward/forward_method.h"

#include "trainers/advantage.h"

namespace harness {

using torch::Tensor;

Tensor over_latent(const Tensor& t, const Tensor& x) {
  auto shape = t.sizes().vec();
  shape.resize(static_cast<std::size_t>(x.dim()), 1);
  return t.to(x.options()).view(shape);
}

Tensor noised(const Tensor& x0, const Tensor& t, const Tensor& eps) {
  const auto time = over_latent(t, eps);
  return (1 - time) * x0 + time * eps;
}

Tensor latent_mean(const Tensor& x) {
  return x.flatten(2).mean(2, /*keepdim=*/false, torch::kFloat64);
}

Tensor matching_error(const Tensor& w, const Tensor& target) {
  return latent_mean((w - target).square());
}

RolloutPlan ForwardMethod::plan(const PlanContext& context) const {
  return window_plan(context, {}, /*start=*/0, /*length=*/0);
}

Selection ForwardMethod::select(const RewardGroups& groups) const {
  const auto differs = group_advantages(groups.rewards, groups.group_size).group_differs;
  Selection chosen;
  for (std::size_t i = 0; i < groups.rewards.size(); ++i) {
    if (groups.drops_constant && !differs[i / static_cast<std::size_t>(groups.group_size)]) continue;
    chosen.rows.push_back(static_cast<std::int64_t>(i));
  }
  chosen.units = static_cast<std::int64_t>(chosen.rows.size());
  return chosen;
}

}  // namespace harness
