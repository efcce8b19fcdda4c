#include "trainers/law.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "trainers/path_variance.h"
#include "trainers/reduced_law.h"
#include "trainers/schedule.h"

namespace harness {
namespace {

constexpr double kNoiseLevel = 0.7;

/// Mean and variance of many draws of exp(N(mean, variance)).
struct Draws {
  double mean = 0, variance = 0, below = 0, above = 0;
};
Draws draw(double log_mean, double log_var, double clip, int n = 400000) {
  std::mt19937_64 engine(7);
  std::normal_distribution<double> normal(log_mean, std::sqrt(log_var));
  Draws draws;
  double squares = 0;
  for (int i = 0; i < n; ++i) {
    const double ratio = std::exp(normal(engine));
    draws.mean += ratio / n;
    squares += ratio * ratio / n;
    draws.below += (ratio < 1 - clip ? 1.0 : 0.0) / n;
    draws.above += (ratio > 1 + clip ? 1.0 : 0.0) / n;
  }
  draws.variance = squares - draws.mean * draws.mean;
  return draws;
}

TEST(Law, RatioMomentsAreThoseOfALognormal) {  // E18
  const double lambda = 0.3;
  const auto moments = lognormal_moments(-lambda / 2, lambda);
  EXPECT_NEAR(moments.mean, 1, 1e-15);
  EXPECT_NEAR(moments.median, std::exp(-lambda / 2), 1e-15);
  EXPECT_NEAR(moments.variance, std::exp(lambda) - 1, 1e-15);
  const auto draws = draw(-lambda / 2, lambda, 0.2);
  EXPECT_NEAR(draws.mean, moments.mean, 0.004);
  EXPECT_NEAR(draws.variance, moments.variance, 0.01);
}

TEST(Law, TheReducedRatioHasNoUnitMean) {  // E26
  const double lc = 0.005425, lv = 3.31e-7;
  EXPECT_NEAR(lognormal_moments(-lc / 2, lv).mean, std::exp(-lc / 2 + lv / 2), 1e-15);
}

TEST(Law, TotalVarianceAddsAQuarterOfTheSpreadOfLambda) {  // E19, E25
  const std::vector<double> centers = {0.001, 0.003, 0.002, 0.006};
  const auto moments = total_variance(centers, 16384);
  EXPECT_NEAR(moments.mean, -0.0015, 1e-15);
  EXPECT_NEAR(moments.variance, 0.003 / 16384 + 4.666666666666667e-6 / 4, 1e-15);
}

TEST(Law, ClipTailsEqualTheSharesOfASimulation) {  // E20
  const double lambda = 0.05, clip = 0.2;
  const auto tails = clip_tails(-lambda / 2, lambda, clip);
  const auto draws = draw(-lambda / 2, lambda, clip);
  EXPECT_NEAR(tails.lower, draws.below, 0.002);
  EXPECT_NEAR(tails.upper, draws.above, 0.002);
  EXPECT_GT(tails.lower, 0.15);
  EXPECT_EQ(clip_tails(-0.5, 0, 0.2).lower, 1);  // no spread: exp(-0.5) lies below 0.8 for certain
}

TEST(Law, SurrogateClipFractionsAreThePublishedOnes) {  // E43 and section 6 of the audit
  EXPECT_NEAR(surrogate_clip_tails(0.04, 0.2).lower, 0.1549, 5e-5);
  EXPECT_NEAR(surrogate_clip_tails(0.04, 0.2).upper, 0.1559, 5e-5);
  EXPECT_NEAR(surrogate_clip_tails(0.04, 0.2).sum(), 0.3107, 5e-5);
  EXPECT_NEAR(surrogate_clip_tails(0.01, 0.1).sum(), 0.3157, 5e-5);
  EXPECT_NEAR(surrogate_clip_tails(0.01, 0.2).sum(), 0.0451, 5e-5);
  EXPECT_NEAR(surrogate_clip_tails(0.025, 0.2).sum(), 0.2003, 5e-5);
  EXPECT_NEAR(surrogate_clip_tails(0.09, 0.2).sum(), 0.5006, 5e-5);
}

TEST(Law, SurrogateClipFractionsHoldInASimulationOfTheSurrogate) {
  std::mt19937_64 engine(11);
  std::normal_distribution<double> normal;
  for (const auto& [nu, clip, expected] : {std::tuple(0.04, 0.2, 0.3107), std::tuple(0.01, 0.1, 0.3157)}) {
    constexpr int kDraws = 4'000'000;
    int clipped = 0;
    for (int i = 0; i < kDraws; ++i) {
      const double ratio = std::exp(std::sqrt(nu) * normal(engine) - nu / 2);
      clipped += std::abs(ratio - 1) > clip ? 1 : 0;
    }
    EXPECT_NEAR(static_cast<double>(clipped) / kDraws, expected, 7e-4) << nu;  // 3 digits
  }
}

TEST(Law, PredictedEssIsWhatManyPathsShow) {  // E21
  const std::vector<double> variances = {0.01, 0.02, 0.03};
  std::mt19937_64 engine(3);
  std::vector<double> path(200000, 0.0);
  for (const double variance : variances) {
    std::normal_distribution<double> normal(-variance / 2, std::sqrt(variance));
    for (double& log_weight : path) log_weight += normal(engine);
  }
  EXPECT_NEAR(effective_share(path), predicted_ess(variances), 0.002);
}

/// A transition of the sampler with two velocities, in float64.
struct Shift {
  SdeStep step;
  torch::Tensor x, old_velocity, new_velocity;
};
Shift make_shift(int k) {
  const auto schedule = shifted_schedule(Grid::kUniform, 8, 1);
  const auto options = torch::TensorOptions(torch::kFloat64);
  torch::manual_seed(k);
  const auto old_velocity = torch::randn({3, 4, 8, 8}, options);
  return {.step = sde_step(schedule.sigmas, k, kNoiseLevel),
          .x = torch::randn({3, 4, 8, 8}, options),
          .old_velocity = old_velocity,
          .new_velocity = old_velocity + 0.01 * torch::randn({3, 4, 8, 8}, options)};
}

// AUDIT I10: the paper prints the drift of the direction from data to noise; the sampler runs the other way.
TEST(Law, VelocityOnlyLambdaMatchesTheSamplerInItsOwnTimeDirectionOnly) {
  constexpr double kFactor = 2.719223;  // ((1 + 0.245) / (1 - 0.245))^2
  for (int k = 1; k < 8; ++k) {
    const auto shift = make_shift(k);
    const auto mean_old = sde_mean(shift.step, shift.x, shift.old_velocity);
    const auto mean_new = sde_mean(shift.step, shift.x, shift.new_velocity);
    const auto exact = lambda_center(shift.step.s, mean_old, mean_new) * 256;  // D lc = lambda
    const auto ours =
        velocity_lambda(shift.step, TimeDirection::kNoiseToData, shift.old_velocity, shift.new_velocity);
    const auto other =
        velocity_lambda(shift.step, TimeDirection::kDataToNoise, shift.old_velocity, shift.new_velocity);
    EXPECT_TRUE(torch::allclose(ours, exact, 1e-10)) << k;
    EXPECT_TRUE(torch::allclose(ours / other, torch::full({3}, kFactor, torch::kFloat64), 1e-4)) << k;
  }
}

TEST(Law, TheScheduleFormOfTheVelocityOnlyLambdaIsTheGeneralOne) {  // E29 in its two forms
  for (const auto direction : {TimeDirection::kNoiseToData, TimeDirection::kDataToNoise}) {
    const auto shift = make_shift(3);
    const auto general = velocity_lambda(shift.step, direction, shift.old_velocity, shift.new_velocity);
    const double squared =
        (shift.new_velocity - shift.old_velocity).square().flatten(1).sum(1)[0].item<double>();
    EXPECT_NEAR(scheduled_velocity_lambda(shift.step.sigma, shift.step.dt, kNoiseLevel, direction, squared) /
                    general[0].item<double>(),
                1, 1e-12);
  }
  EXPECT_THROW(scheduled_velocity_lambda(1, 0.1, 0.7, TimeDirection::kNoiseToData, 1), std::invalid_argument);
}

TEST(Law, RatioBasedEstimatesAgreeWithTheMeanShift) {  // E30, E31; E30's summed log-ratio is D times the
                                                       // reduced one
  const auto shift = make_shift(4);
  const std::int64_t n = 40000, size = 256;
  const auto x = shift.x.slice(0, 0, 1);
  const auto mean_old = sde_mean(shift.step, x, shift.old_velocity.slice(0, 0, 1)).expand({n, 4, 8, 8});
  const auto mean_new = sde_mean(shift.step, x, shift.new_velocity.slice(0, 0, 1)).expand({n, 4, 8, 8});
  const auto next = sde_next(shift.step, mean_old, torch::randn({n, 4, 8, 8}, torch::kFloat64));
  const auto y = reduced_log_ratio(shift.step.s, mean_old, mean_new, next);
  const double lc = lambda_center(shift.step.s, mean_old, mean_new)[0].item<double>();
  const auto reduced = ratio_based_lambda(y), summed = ratio_based_lambda(y * size);
  const double mean_error = 2 * std::sqrt(lc / size / n), variance_share = std::sqrt(2.0 / n);
  EXPECT_NEAR(reduced.from_mean, lc, 5 * mean_error);
  EXPECT_NEAR(reduced.from_variance / (lc / size), 1, 5 * variance_share);
  EXPECT_NEAR(summed.from_mean, size * lc, 5 * size * mean_error);
  EXPECT_NEAR(summed.from_variance / (size * lc), 1, 5 * variance_share);
}

TEST(Law, EndpointScalingDivergesTowardsTheData) {  // E33
  EXPECT_NEAR(endpoint_lambda(1, 0.5, 0.125, 0.7), 0.125 / 0.49, 1e-12);
  EXPECT_GT(endpoint_lambda(1, 0.01, 0.125, 0.7), 90 * endpoint_lambda(1, 0.5, 0.125, 0.7));
}

}  // namespace
}  // namespace harness
