#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/trainers/step_fixture.h"
#include "trainers/reduced_law.h"
#include "trainers/sampling/sde.h"

namespace harness {
namespace {

using ::testing::FloatNear;
using ::testing::Pointwise;

TEST(Schedule, UniformGridWithoutShiftIsALine) {
  const auto schedule = shifted_schedule(NoiseGrid::kUniform, 10, 1);
  EXPECT_THAT(schedule.sigmas,
              Pointwise(::testing::FloatEq(), {1.f, .9f, .8f, .7f, .6f, .5f, .4f, .3f, .2f, .1f, 0.f}));
  EXPECT_EQ(schedule.steps(), 10);
  EXPECT_FLOAT_EQ(schedule.timesteps[1], 900);
}

// FlowMatchEulerDiscreteScheduler(shift=1).set_timesteps(10): linspace(1000, 1, 10) / 1000.
TEST(Schedule, DiffusersGridWithoutShiftEndsAtItsSmallestTrainingLevel) {
  const auto schedule = shifted_schedule(NoiseGrid::kDiffusers, 10, 1);
  EXPECT_THAT(schedule.sigmas, Pointwise(FloatNear(1e-6f), {1.f, .889f, .778f, .667f, .556f, .445f, .334f,
                                                            .223f, .112f, .001f, 0.f}));
}

TEST(Schedule, FirstSigmaIsExactlyOne) {
  for (const double shift : {0.5, 1.0, 3.0, 7.3}) {
    for (const int steps : {1, 2, 7, 10, 40}) {
      EXPECT_EQ(shifted_schedule(NoiseGrid::kDiffusers, steps, shift).sigmas[0], 1.f)
          << shift << " " << steps;
      EXPECT_EQ(shifted_schedule(NoiseGrid::kUniform, steps, shift).sigmas[0], 1.f) << shift << " " << steps;
    }
  }
}

using Kind = StepRule::Kind;

const std::vector<float> kSd35 = shifted_schedule(NoiseGrid::kDiffusers, 10, 3).sigmas,
                         kGlyph = shifted_schedule(NoiseGrid::kUniform, 10, 1).sigmas;

void expect_equal_means(const SdeStep& a, const SdeStep& b) {
  EXPECT_NEAR(a.x_weight, b.x_weight, 1e-14);
  EXPECT_NEAR(a.velocity_weight, b.velocity_weight, 1e-14);
}

TEST(StepRule, ConstantOfTheFlowSdesDeviationIsTheFlowSde) {
  for (int k = 1; k < 10; ++k) {  // at sigma = 1 the Flow-SDE borrows the next sigma
    const double sigma = kSd35[static_cast<std::size_t>(k)];
    const auto flow = sde_step(kSd35, k, 0.7);
    const auto constant = sde_step(kSd35, k, {Kind::kConstant, 0.7 * std::sqrt(sigma / (1 - sigma))});
    EXPECT_NEAR(constant.std, flow.std, 1e-14);
    EXPECT_NEAR(constant.s, flow.s, 1e-14);
    expect_equal_means(constant, flow);
  }
}

TEST(StepRule, WithoutNoiseEveryRuleIsEulersStep) {
  const auto x = normal(1, {2, 3, 4}).to(torch::kFloat64), v = normal(2, {2, 3, 4}).to(torch::kFloat64);
  for (const auto kind : {Kind::kOde, Kind::kFlowSde, Kind::kConstant, Kind::kCps}) {
    for (int k = 0; k < 10; ++k) {
      const auto step = sde_step(kSd35, k, {kind, 0});
      EXPECT_EQ(step.s, 0);
      expect_equal_means(step, {.x_weight = 1, .velocity_weight = -step.dt});
      EXPECT_TRUE(torch::allclose(sde_mean(step, x, v), x - v * step.dt, 1e-12, 1e-12));
      const auto i = static_cast<std::size_t>(k);
      EXPECT_TRUE(
          torch::allclose(sde_mean(step, x, v), euler_step(kSd35[i], kSd35[i + 1], x, v), 1e-7, 1e-9));
    }
  }
}

TEST(StepRule, TheLastStepOfCpsIsTheCleanPrediction) {
  const auto step = sde_step(kSd35, 9, {Kind::kCps, 0.8});
  EXPECT_EQ(step.s, 0);
  EXPECT_EQ(step.x_weight, 1);
  EXPECT_EQ(step.velocity_weight, -static_cast<double>(kSd35[9]));
}

// x = (1 - sigma) x0 + sigma eps and v = eps - x0 give mean = (1 - sigma') x0 + kept eps.
TEST(StepRule, CpsKeepsTheNoiseLevelWhereThePredictionsAreExact) {
  for (const double level : {0.0, 0.5, 0.8, 1.0}) {
    for (int k = 0; k < 10; ++k) {
      const auto step = sde_step(kSd35, k, {Kind::kCps, level});
      const double following = kSd35[static_cast<std::size_t>(k) + 1];
      const double clean = step.x_weight * (1 - step.sigma) - step.velocity_weight,
                   kept = step.x_weight * step.sigma + step.velocity_weight;
      EXPECT_NEAR(clean, 1 - following, 1e-14);
      EXPECT_NEAR(kept * kept + step.s * step.s, following * following, 1e-14) << level << " " << k;
    }
  }
}

std::vector<double> deviations(const std::vector<float>& sigmas, StepRule rule) {
  std::vector<double> s;
  for (int k = 0; k < 10; ++k) s.push_back(sde_step(sigmas, k, rule).s);
  return s;
}

// As a table of the rules on the two grids, computed apart from this code, prints them.
TEST(StepRule, GivesTheDeviationsOfTheTwoGrids) {
  const auto are = [](std::vector<double> printed) {
    return Pointwise(::testing::DoubleNear(5.1e-4), std::move(printed));
  };
  const StepRule flow = {Kind::kFlowSde, 0.7}, cps = {Kind::kCps, 0.8}, dance = {Kind::kConstant, 0.3};
  EXPECT_THAT(deviations(kSd35, flow), are({.700, .743, .536, .446, .392, .353, .319, .282, .225, .006}));
  EXPECT_THAT(deviations(kSd35, cps), are({.913, .869, .816, .752, .673, .573, .442, .264, .008, 0}));
  EXPECT_THAT(deviations(kSd35, dance), are({.060, .065, .071, .078, .086, .097, .111, .130, .156, .028}));
  EXPECT_THAT(deviations(kGlyph, flow), are({.700, .664, .443, .338, .271, .221, .181, .145, .111, .074}));
  EXPECT_THAT(deviations(kGlyph, cps), are({.856, .761, .666, .571, .476, .380, .285, .190, .095, 0}));
  EXPECT_THAT(deviations(kGlyph, dance), ::testing::Each(::testing::DoubleNear(.095, 5.1e-4)));
}

TEST(ReducedLaw, LogRatioIsTheDifferenceOfLogProbabilities) {
  const auto step = test_step(3);
  const auto x = normal(6, {4, 16, 6}).to(torch::kFloat64), v = normal(7, {4, 16, 6}).to(torch::kFloat64);
  const auto old_mean = sde_mean(step, x, v), new_mean = sde_mean(step, x, v * 1.01);
  const auto next = sde_next(step, old_mean, normal(8, {4, 16, 6}).to(torch::kFloat64));
  const auto y = reduced_log_ratio(step.s, old_mean, new_mean, next);
  EXPECT_TRUE(
      torch::allclose(y, sde_log_prob(step, new_mean, next) - sde_log_prob(step, old_mean, next), 0, 1e-14));
}

// E24: y has mean -lambda_center / 2 and variance lambda_center / D.
TEST(ReducedLaw, LogRatioHasTheMeanAndVarianceOfTheLaw) {
  constexpr std::int64_t kBatch = 4000, kLatent = 64;
  const auto step = test_step(5);
  const auto old_mean = normal(9, {1, kLatent}).to(torch::kFloat64).expand({kBatch, kLatent});
  const auto new_mean = old_mean + 0.3 * step.s;  // lambda_center 0.09
  const auto next = sde_next(step, old_mean, normal(10, {kBatch, kLatent}).to(torch::kFloat64));
  const auto y = reduced_log_ratio(step.s, old_mean, new_mean, next);
  EXPECT_NEAR(lambda_center(step.s, old_mean, new_mean).mean().item<double>(), 0.09, 1e-12);
  EXPECT_NEAR(y.mean().item<double>(), -0.045, 5 * std::sqrt(0.09 / kLatent / kBatch));
  EXPECT_NEAR(y.var().item<double>() / (0.09 / kLatent), 1, 5 * std::sqrt(2.0 / kBatch));
}

// E29. The sampler runs from noise to data; the paper prints the factor of the other direction (a minus in
// E28), with which lambda would come out 2.72 times too small at this noise level.
TEST(ReducedLaw, LambdaFromVelocitiesIsTheMeanShiftsInTheSamplersOwnTimeDirectionUnderEveryRule) {
  constexpr double kHalf = 0.7 * 0.7 / 2;
  for (const auto rule : {StepRule{Kind::kFlowSde, 0.7}, {Kind::kConstant, 0.3}, {Kind::kCps, 0.8}}) {
    for (int k = 0; k < 10; ++k) {
      const auto step = sde_step(kGlyph, k, rule);
      if (step.s == 0) continue;  // the last one of CPS has no noise
      const auto x = normal(12, {4, 16, 6}).to(torch::kFloat64),
                 v = normal(13, {4, 16, 6}).to(torch::kFloat64);
      const auto v_new = v + 0.01 * normal(14, {4, 16, 6});
      const auto exact = lambda_center(step.s, sde_mean(step, x, v), sde_mean(step, x, v_new));
      EXPECT_TRUE(torch::allclose(velocity_lambda(step, v, v_new), exact, 1e-9)) << k;
      if (k == 0 || rule.kind != Kind::kFlowSde) continue;  // at t = 1 the sampler's std is not E6's
      const auto shift = (v_new - v).square().flatten(1).mean(1);
      const auto printed =
          shift * (std::pow(1 - kHalf, 2) * (1 - step.sigma) / (0.49 * step.sigma) * step.dt);
      EXPECT_NEAR((exact / printed).mean().item<double>(), 2.719223, 1e-4) << k;
    }
  }
}

TEST(SdeStep, TheGradientOfTheReferenceKlIsItsDerivativeInBothForms) {
  const auto reference = normal(11, {3, 20}).to(torch::kFloat64),
             shift = normal(12, {3, 20}).to(torch::kFloat64), weight = normal(13, {3}).to(torch::kFloat64);
  for (int k = 0; k < 10; ++k) {
    const auto step = test_step(k);
    for (const bool per_step_variance : {false, true}) {
      const auto weighted = [&](const torch::Tensor& at) {
        return (weight * reference_kl(step, at, reference, per_step_variance)).sum();
      };
      const auto value = [&](const torch::Tensor& at) { return weighted(at).item<double>(); };
      const auto mean = (reference + step.s * shift).requires_grad_();
      weighted(mean).backward();
      EXPECT_LT(relative_error(mean.grad(), finite_differences(value, mean)), 1e-6)
          << k << " " << per_step_variance;
    }
  }
}

}  // namespace
}  // namespace harness
