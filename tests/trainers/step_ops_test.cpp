#include "trainers/step_ops.h"

#include <gtest/gtest.h>

#include "tests/trainers/step_fixture.h"
#include "trainers/reduced_law.h"
#include "trainers/rollout.h"

namespace harness {
namespace {

using torch::equal;
using torch::Tensor;

const std::vector<std::int64_t> kShapes[] = {{16, 16, 6, 12}, {3, 16, 32, 32}, {5, 7}};

// Numerics version 1, written out: a faster step on the CPU gives these bits, or raises the version.
TEST(StepOps, TransitionOnTheCpuHasTheBitsOfItsDefinition) {
  for (const auto& shape : kShapes) {
    const StepInputs in(shape);
    for (int k = 0; k < 10; ++k) {
      const auto step = test_step(k);
      const double pull = step.std * step.std / (2 * step.sigma);
      const auto mean =
          in.x * (1 - pull * step.dt) + in.velocity * (-(1 + pull * (1 - step.sigma)) * step.dt);
      const auto next = mean + in.noise * step.s;
      const auto t = step_transition(step, in.x, in.velocity, in.noise);
      EXPECT_TRUE(equal(t.mean, mean) && equal(t.next, next)) << k;
    }
  }
}

TEST(StepOps, LawOnTheCpuHasTheBitsOfItsDefinition) {
  for (const auto& shape : kShapes) {
    const StepInputs in(shape);
    const auto step = test_step(4);
    const auto t = step_transition(step, in.x, in.velocity, in.noise);
    const auto mean_new = step_mean(step, in.x, in.velocity_new);
    const auto y = ((mean_new - t.mean) * ((t.next - t.mean) + (t.next - mean_new))).flatten(1).mean(1) *
                   (1 / (2 * step.s * step.s));
    const auto center = (mean_new - t.mean).square().flatten(1).mean(1) * (1 / (step.s * step.s));
    const auto law = reduced_law(step.s, t.mean, mean_new, t.next);
    EXPECT_TRUE(equal(law.y, y) && equal(law.lambda_center, center));
  }
}

TEST(StepOps, TrainingFindsTheMeanOfTheRolloutAndAZeroLogRatio) {
  for (const auto& shape : kShapes) {
    for (int k = 0; k < 10; ++k) expect_zero_on_policy(StepInputs(shape), test_step(k));
  }
}

TEST(StepOps, Float32FollowsFloat64) {
  const StepInputs in({4, 16, 32, 32});
  const auto wide = in.to(torch::kFloat64);
  const auto step = test_step(6);
  const auto t = step_transition(step, in.x, in.velocity, in.noise);
  const auto exact = step_transition(step, wide.x, wide.velocity, wide.noise);
  EXPECT_LT(relative_error(t.mean, exact.mean), 1e-6);
  EXPECT_LT(relative_error(t.next, exact.next), 1e-6);
  const auto mean_new = step_mean(step, in.x, in.velocity_new);
  const auto law = reduced_law(step.s, t.mean, mean_new, t.next);
  const auto exact_law = reduced_law(step.s, in_float64(t.mean), in_float64(mean_new), in_float64(t.next));
  EXPECT_LT(relative_error(law.y, exact_law.y), 1e-5);
  EXPECT_LT(relative_error(law.lambda_center, exact_law.lambda_center), 1e-5);
}

TEST(StepOps, NarrowVelocityIsWidenedFirst) {
  const StepInputs in({2, 4, 3, 3});
  const auto step = test_step(5);
  const auto narrow = in.velocity.to(torch::kBFloat16).requires_grad_();
  const auto wide = narrow.detach().to(torch::kFloat32);
  const auto mean = step_mean(step, in.x, narrow);
  EXPECT_TRUE(equal(mean, step_mean(step, in.x, wide)));
  EXPECT_TRUE(equal(mean, step_transition(step, in.x, narrow, in.noise).mean));
  mean.sum().backward();
  EXPECT_EQ(narrow.grad().scalar_type(), torch::kBFloat16);
}

TEST(StepOps, GradientsMatchFiniteDifferences) {
  const auto in = StepInputs({3, 2, 2, 3}).to(torch::kFloat64);
  const auto step = test_step(6);
  const auto t = step_transition(step, in.x, in.velocity, in.noise);
  const auto of_mean = [&](const Tensor& mean) {
    const auto law = reduced_law(step.s, t.mean, mean, t.next);
    return (in.weight_y * law.y + in.weight_center * law.lambda_center).sum();
  };
  const auto of_velocity = [&](const Tensor& velocity) { return of_mean(step_mean(step, in.x, velocity)); };

  const auto number = [](const auto& f) {
    return [&f](const Tensor& x) { return f(x).template item<double>(); };
  };
  const auto mean = step_mean(step, in.x, in.velocity_new).detach().requires_grad_();
  of_mean(mean).backward();
  EXPECT_LT(relative_error(mean.grad(), finite_differences(number(of_mean), mean)), 1e-7);
  EXPECT_LT(relative_error(mean.grad(), law_gradient(step, t.mean, mean.detach(), t.next, in)), 1e-12);

  const auto velocity = in.velocity_new.clone().requires_grad_();
  of_velocity(velocity).backward();
  EXPECT_LT(relative_error(velocity.grad(), finite_differences(number(of_velocity), velocity)), 1e-7);
}

// A step of a forest: three children of one latent and two of another.
TEST(StepOps, TheGradientOfAParentIsTheDerivativeByItsVelocityAndTheSumOverItsEdges) {
  const auto step = test_step(6);
  const auto parents = StepInputs({2, 2, 2, 3}).to(torch::kFloat64);
  const auto children = StepInputs({5, 2, 2, 3}).to(torch::kFloat64);
  EdgeBlock block;
  block.parent = torch::tensor({0, 0, 0, 1, 1}, torch::kInt64);
  block.x = parents.x;
  block.mean_old = step_mean(step, parents.x, parents.velocity);
  block.next = sde_next(step, block.of_edges(block.mean_old), children.noise);
  const auto loss_of = [&](const Tensor& means) {  // of the edges
    const auto law = reduced_law(step.s, block.of_edges(block.mean_old), means, block.next);
    return (children.weight_y * law.y + children.weight_center * law.lambda_center).sum();
  };
  const auto loss = [&](const Tensor& at) { return loss_of(block.of_edges(step_mean(step, block.x, at))); };
  const auto value = [&](const Tensor& at) { return loss(at).item<double>(); };

  const auto velocity = parents.velocity_new.clone().requires_grad_();
  loss(velocity).backward();
  EXPECT_LT(relative_error(velocity.grad(), finite_differences(value, velocity)), 1e-7);

  const auto of_each = block.of_edges(parents.velocity_new).requires_grad_();
  loss_of(step_mean(step, block.of_edges(block.x), of_each)).backward();
  const auto summed = torch::zeros_like(parents.velocity_new).index_add(0, block.parent, of_each.grad());
  EXPECT_LT(relative_error(velocity.grad(), summed), 1e-12);
}

// As the worker computes: one thread a shard.
TEST(StepOps, ASampleDoesNotDependOnItsBatch) {
  const auto threads = torch::get_num_threads();
  torch::set_num_threads(1);
  for (const auto& shape : kShapes) expect_rows_alone_equal(StepInputs(shape), test_step(3));
  torch::set_num_threads(threads);
}

}  // namespace
}  // namespace harness
