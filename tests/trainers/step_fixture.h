#pragma once

#include <gtest/gtest.h>

#include "models/nn/torch.h"
#include "trainers/sampling/noise.h"
#include "trainers/sampling/schedule.h"
#include "trainers/step_ops.h"

namespace harness {

inline torch::Tensor normal(std::uint32_t sample, torch::IntArrayRef shape, std::uint32_t seed = 7) {
  auto out = torch::empty(shape);
  fill_normal({.seed = seed, .sample = sample},
              {out.data_ptr<float>(), static_cast<std::size_t>(out.numel())});
  return out;
}

/// Step k of 10.
inline SdeStep test_step(int k) {
  static const auto sigmas = shifted_schedule(NoiseGrid::kUniform, 10, 1).sigmas;
  return sde_step(sigmas, k, 0.7);
}

/// What a step is computed from: latents [B, ...], and what a loss weighs its law with [B].
struct StepInputs {
  torch::Tensor x, velocity, velocity_new, noise, weight_y, weight_center;

  explicit StepInputs(torch::IntArrayRef shape)
      : x(normal(1, shape)),
        velocity(normal(2, shape)),
        velocity_new(velocity + 0.05F * normal(3, shape)),
        noise(normal(4, shape)),
        weight_y(normal(5, shape.slice(0, 1))),
        weight_center(normal(6, shape.slice(0, 1))) {}

  template <typename Change>
  StepInputs each(const Change& change) const {
    auto other = *this;
    for (auto* t : {&other.x, &other.velocity, &other.velocity_new, &other.noise, &other.weight_y,
                    &other.weight_center})
      *t = change(*t);
    return other;
  }
  StepInputs to(const torch::TensorOptions& options) const {
    return each([&](const torch::Tensor& t) { return t.to(options); });
  }
  /// Sample i alone.
  StepInputs row(std::int64_t i) const {
    return each([&](const torch::Tensor& t) { return t.slice(0, i, i + 1); });
  }
};

/// d f / d x by central differences.
template <typename F>
torch::Tensor finite_differences(const F& f, const torch::Tensor& x, double h = 1e-6) {
  auto probe = x.detach().clone(), gradient = torch::empty_like(x);
  for (std::int64_t i = 0; i < x.numel(); ++i) {
    auto element = probe.view(-1)[i];
    const double kept = element.item<double>();
    element.fill_(kept + h);
    const double up = f(probe);
    element.fill_(kept - h);
    const double down = f(probe);
    element.fill_(kept);
    gradient.view(-1)[i] = (up - down) / (2 * h);
  }
  return gradient;
}

inline torch::Tensor in_float64(const torch::Tensor& t) {
  return t.detach().to(torch::kCPU, torch::kFloat64);
}

/// Largest error over largest magnitude.
inline double relative_error(const torch::Tensor& value, const torch::Tensor& exact) {
  const auto wide = in_float64(exact);
  return ((in_float64(value) - wide).abs().max() / wide.abs().max()).item<double>();
}

/// Training finds the mean of the rollout, and log-ratios that are exactly 0.
inline void expect_zero_on_policy(const StepInputs& in, const SdeStep& step) {
  const auto t = step_transition(step, in.x, in.velocity, in.noise);
  const auto mean = step_mean(step, in.x, in.velocity.clone().requires_grad_());
  EXPECT_TRUE(mean.requires_grad() && !t.mean.requires_grad());
  EXPECT_TRUE(torch::equal(mean, t.mean));
  const auto law = reduced_law(step.s, t.mean, mean, t.next);
  EXPECT_EQ(law.y.abs().max().item<float>(), 0);
  EXPECT_EQ(law.lambda_center.max().item<float>(), 0);
}

/// Gradient of sum(weight_y y + weight_center lambda_center) with respect to mean_new, in closed form.
inline torch::Tensor law_gradient(const SdeStep& step, const torch::Tensor& mean_old,
                                  const torch::Tensor& mean_new, const torch::Tensor& next,
                                  const StepInputs& in) {
  const auto of_sample = [&](const torch::Tensor& weight) {
    return weight.view({-1, 1}).expand({-1, mean_new[0].numel()}).reshape_as(mean_new);
  };
  return (of_sample(in.weight_y) * (next - mean_new) +
          2 * of_sample(in.weight_center) * (mean_new - mean_old)) /
         (step.s * step.s * static_cast<double>(mean_new[0].numel()));
}

/// Everything that a rollout and an update compute of one step.
struct StepResults {
  Transition transition;
  torch::Tensor mean_new;
  ReducedLaw law;
  torch::Tensor gradient;  ///< with respect to velocity_new

  StepResults(const SdeStep& step, const StepInputs& in) {
    transition = step_transition(step, in.x, in.velocity, in.noise);
    const auto velocity = in.velocity_new.detach().clone().requires_grad_();
    mean_new = step_mean(step, in.x, velocity);
    law = reduced_law(step.s, transition.mean, mean_new, transition.next);
    (in.weight_y * law.y + in.weight_center * law.lambda_center).sum().backward();
    gradient = velocity.grad();
  }

  std::vector<torch::Tensor> all() const {
    return {transition.mean, transition.next, mean_new, law.y, law.lambda_center, gradient};
  }
};

/// Each sample computed alone has the bits that it has in its batch.
inline void expect_rows_alone_equal(const StepInputs& in, const SdeStep& step) {
  const auto together = StepResults(step, in).all();
  for (std::int64_t i = 0; i < in.x.size(0); ++i) {
    const auto alone = StepResults(step, in.row(i)).all();
    for (std::size_t n = 0; n < alone.size(); ++n)
      EXPECT_TRUE(torch::equal(alone[n][0], together[n][i])) << "sample " << i << ", result " << n;
  }
}

}  // namespace harness
