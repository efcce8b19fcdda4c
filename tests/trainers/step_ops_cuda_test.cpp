// The step on a GPU against its CPU twin. In builds with the cuda preset these are the kernels of
// step_kernels.cu, elsewhere LibTorch's operators; without a GPU every test is skipped.
#include <gtest/gtest.h>

#include <limits>

#include "core/error.h"
#include "models/nn/device.h"
#include "models/nn/kernel_device.h"
#include "tests/trainers/step_fixture.h"
#include "trainers/step_ops.h"

namespace harness {
namespace {

using torch::equal;

// One chunk of the kernels' sums and less, several with a rest, many samples, SD3 at 512 px.
const std::vector<std::int64_t> kShapesOnGpu[] = {{3, 7},         {16, 16, 6, 12}, {2, 4096},      {4, 4097},
                                                  {300, 2, 3, 5}, {8, 16, 32, 32}, {2, 16, 64, 64}};

class StepOpsCuda : public ::testing::Test {
 protected:
  void SetUp() override {
    try {
      device_ = open_device("cuda:0");
    } catch (const Error& error) {
      GTEST_SKIP() << error.what();
    }
    RecordProperty("kernels", kKernelsAreBuilt ? "step_kernels.cu" : "LibTorch");
  }

  torch::Device device_ = torch::kCPU;
};

TEST_F(StepOpsCuda, MeansAndNextLatentsHaveTheBitsOfTheCpu) {
  for (const auto& shape : kShapesOnGpu) {
    for (const auto type : {torch::kFloat32, torch::kBFloat16}) {
      StepInputs in(shape);
      in.velocity = in.velocity.to(type);
      const auto there = in.to(device_);
      for (const int k : {0, 4, 9}) {
        const auto step = test_step(k);
        const auto mean = sde_mean(step, in.x, in.velocity);
        const auto t = step_transition(step, there.x, there.velocity, there.noise);
        EXPECT_TRUE(equal(t.mean.cpu(), mean));
        EXPECT_TRUE(equal(t.next.cpu(), sde_next(step, mean, in.noise)));
        EXPECT_TRUE(equal(step_mean(step, there.x, there.velocity).cpu(), mean));
      }
    }
  }
}

TEST_F(StepOpsCuda, LawAndGradientFollowFloat64) {
  for (const auto& shape : kShapesOnGpu) {
    const StepInputs in(shape);
    const auto step = test_step(6);
    const StepResults here(step, in), there(step, in.to(device_));
    ASSERT_TRUE(equal(there.mean_new.cpu(), here.mean_new));
    const auto old = in_float64(here.transition.mean), now = in_float64(here.mean_new),
               next = in_float64(here.transition.next);
    const auto exact = reduced_law(step.s, old, now, next);
    EXPECT_LT(relative_error(there.law.y, exact.y), 2e-6);
    EXPECT_LT(relative_error(there.law.lambda_center, exact.lambda_center), 1e-6);
    const auto gradient = law_gradient(step, old, now, next, in.to(torch::kFloat64)) * step.velocity_weight;
    EXPECT_LT(relative_error(there.gradient, gradient), 1e-6);
    EXPECT_LT(relative_error(there.gradient, here.gradient), 1e-5);
  }
}

TEST_F(StepOpsCuda, EachTermHasItsOwnGradient) {
  const StepInputs in({4, 16, 6, 12});
  const auto step = test_step(6);
  for (const bool of_y : {true, false}) {
    auto one = in;
    auto& silent = of_y ? one.weight_center : one.weight_y;
    silent = torch::zeros_like(silent);
    const auto gradient_on = [&](torch::Device device) {
      const auto here = one.to(device);
      const auto t = step_transition(step, here.x, here.velocity, here.noise);
      const auto velocity = here.velocity_new.detach().clone().requires_grad_();
      const auto law = reduced_law(step.s, t.mean, step_mean(step, here.x, velocity), t.next);
      (of_y ? (here.weight_y * law.y).sum() : (here.weight_center * law.lambda_center).sum()).backward();
      return velocity.grad();
    };
    EXPECT_LT(relative_error(gradient_on(device_), gradient_on(torch::kCPU)), 1e-5);
  }
}

TEST_F(StepOpsCuda, TrainingFindsTheMeanOfTheRolloutAndAZeroLogRatio) {
  for (const auto& shape : kShapesOnGpu) {
    auto in = StepInputs(shape).to(device_);
    expect_zero_on_policy(in, test_step(2));
    in.velocity = in.velocity.to(torch::kBFloat16);
    expect_zero_on_policy(in, test_step(2));
  }
}

TEST_F(StepOpsCuda, StridedLatentsGiveTheBitsOfDenseOnes) {
  const auto in = StepInputs({4, 6, 5, 3}).to(device_);
  const auto strided = [](const torch::Tensor& t) { return t.transpose(1, 3).contiguous().transpose(1, 3); };
  auto other = in;
  for (auto* t : {&other.x, &other.velocity, &other.velocity_new, &other.noise}) *t = strided(*t);
  const auto dense = StepResults(test_step(5), in).all(), result = StepResults(test_step(5), other).all();
  for (std::size_t n = 0; n < dense.size(); ++n) EXPECT_TRUE(equal(dense[n], result[n])) << n;
}

TEST_F(StepOpsCuda, NarrowVelocityHasANarrowGradient) {
  auto in = StepInputs({2, 16, 8, 8}).to(device_);
  const auto step = test_step(5);
  const auto wide = StepResults(step, in).gradient;
  in.velocity_new = in.velocity_new.to(torch::kBFloat16);
  const auto narrow = StepResults(step, in).gradient;
  EXPECT_EQ(narrow.scalar_type(), torch::kBFloat16);
  EXPECT_LT(relative_error(narrow, wide), 0.05);
}

TEST_F(StepOpsCuda, NumbersThatAreNotFiniteShow) {
  const auto in = StepInputs({3, 5000}).to(device_);
  const auto step = test_step(5);
  const auto t = step_transition(step, in.x, in.velocity, in.noise);
  auto mean = t.mean.clone();
  mean[1][4999] = std::numeric_limits<float>::quiet_NaN();
  const auto bad = reduced_law(step.s, t.mean, mean, t.next).y.isnan().cpu();
  EXPECT_FALSE(bad[0].item<bool>() || bad[2].item<bool>());
  EXPECT_TRUE(bad[1].item<bool>());
}

// What the kernels promise beyond LibTorch's operators.
TEST_F(StepOpsCuda, ASampleDoesNotDependOnItsBatchNorOnTheRun) {
  if (!kKernelsAreBuilt) GTEST_SKIP() << "this build has no CUDA kernels: use the cuda preset";
  for (const auto& shape : kShapesOnGpu) {
    const auto in = StepInputs(shape).to(device_);
    if (shape[0] < 100) expect_rows_alone_equal(in, test_step(3));
    const auto first = StepResults(test_step(3), in).all(), again = StepResults(test_step(3), in).all();
    for (std::size_t n = 0; n < first.size(); ++n) EXPECT_TRUE(equal(first[n], again[n])) << n;
  }
}

}  // namespace
}  // namespace harness
