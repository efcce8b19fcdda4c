#pragma once

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "tests/trainers/step_fixture.h"
#include "trainers/direct/direct_method.h"
#include "trainers/forward/forward_method.h"
#include "trainers/method.h"

namespace harness {

inline const MethodContext kOcr{.task = "ocr", .latent_size = 1152, .late_steps = 5};
inline const double kTau = -std::log(0.95) / 5;  // E46: 0.01026

inline Json effective(const std::string& method, const Json& given = Json::object(),
                      const MethodContext& context = kOcr) {
  return make_method(method, given, context, "table.json").effective;
}

inline std::unique_ptr<Method> method_of(const std::string& name, const Json& given = Json::object(),
                                         const MethodContext& context = kOcr) {
  return make_method(name, given, context, "test").method;
}

/// Nothing where the method is none of steps taken together.
inline const TrajectoryMethod* trajectory_of(const Method& method) {
  return dynamic_cast<const TrajectoryMethod*>(&method);
}

/// Others are on the forward process (forward_test.cpp) or follow the reward's gradient (direct_test.cpp).
inline bool has_recorded_steps(const Method& method) {
  return dynamic_cast<const ForwardMethod*>(&method) == nullptr &&
         dynamic_cast<const DirectMethod*>(&method) == nullptr;
}

inline torch::Tensor doubles_of(const std::vector<double>& values) {
  return torch::tensor(values, torch::kFloat64);
}

/// The advantages that losses are held to: as many as there are samples, of both signs.
inline torch::Tensor some_advantages(std::size_t samples) {
  const std::vector<double> values = {1.3, -0.7, 0.4, -2.0};
  return doubles_of({values.begin(), values.begin() + static_cast<std::ptrdiff_t>(samples)});
}

/// Statistics of a step; leaves require gradients.
inline StepStats stats_of(const std::vector<double>& y, const std::vector<double>& center,
                          std::int64_t latent = 1152) {
  StepStats s{.s = 0.2, .dt = 0.1, .step = 6, .late = true, .latent_size = latent};
  s.y = doubles_of(y).requires_grad_();
  s.lambda_center = doubles_of(center).requires_grad_();
  s.lambda_var = s.lambda_center / static_cast<double>(latent);
  s.advantage = s.advantage_raw = some_advantages(y.size());
  return s;
}

/// Statistics of steps taken together: y of each step, sample by sample.
inline TrajectoryStats trajectory_stats(const std::vector<double>& y, std::int64_t steps) {
  const auto samples = y.size() / static_cast<std::size_t>(steps);
  TrajectoryStats t{.s = std::vector<double>(static_cast<std::size_t>(steps), 0.2)};
  t.y = doubles_of(y).view({steps, -1}).requires_grad_();
  t.lambda_center = torch::full_like(t.y.detach(), 1e-3);
  t.advantage = t.advantage_raw = some_advantages(samples);
  return t;
}

inline void hold(StepStats& stats) {
  stats.held_y = stats.y.detach();
}
inline void hold(TrajectoryStats& stats) {
  stats.held_y = stats.y.detach();
}
inline void hold(ForwardStats& stats) {
  stats.held_v = stats.v.detach();
}

/// The derivative of loss(stats) by one of its tensors, by autograd (undefined: no gradient flows) and by
/// central differences, in which what the loss holds constant stays as it is.
struct Derivative {
  torch::Tensor exact, numeric;
};

template <class Stats, class Loss>
Derivative derivative_of(const Loss& loss, const Stats& stats, torch::Tensor Stats::*by, double h) {
  const auto exact = torch::autograd::grad({loss(stats)}, {stats.*by}, {}, /*retain_graph=*/true, false,
                                           /*allow_unused=*/true)[0];
  auto probe = stats;
  hold(probe);
  const auto value = [&](const torch::Tensor& at) {
    probe.*by = at;
    return loss(probe).template item<double>();
  };
  return {exact, finite_differences(value, stats.*by, h)};
}

}  // namespace harness
