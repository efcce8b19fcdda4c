#include "trainers/law/path_variance.h"

#include <gtest/gtest.h>

#include <cmath>

#include "trainers/sampling/noise.h"

namespace harness {
namespace {

constexpr std::size_t kSamples = 200'000;
constexpr double kLambdaVar = 0.04, kLatent = 10, kLambdaCenter = kLambdaVar * kLatent;

/// Steps whose log-ratios follow the reduced law exactly (E24).
std::vector<StepRecord> law_abiding(int steps) {
  std::vector<StepRecord> records;
  std::vector<float> noise(kSamples);
  for (int k = 0; k < steps; ++k) {
    fill_normal({.seed = 5, .stream = NoiseStream::kSdeStep, .step = static_cast<std::uint16_t>(k)}, noise);
    StepRecord r{.clip = 0.2};
    for (const float n : noise) {
      r.y.push_back(-kLambdaCenter / 2 + std::sqrt(kLambdaVar) * n);
      r.lambda_center.push_back(kLambdaCenter);
      r.ratio.push_back(std::exp(std::sqrt(0.04) * n - 0.02));
    }
    records.push_back(std::move(r));
  }
  return records;
}

TEST(PathVariance, StatisticsOfALawAbidingStepAreThoseOfTheLaw) {
  const auto law = step_laws(law_abiding(1), 10).front();
  EXPECT_NEAR(law.lambda_center, kLambdaCenter, 1e-12);
  EXPECT_NEAR(law.lambda_var, kLambdaVar, 1e-12);
  EXPECT_NEAR(law.log_ratio_mean, -kLambdaCenter / 2, 0.003);          // E24
  EXPECT_NEAR(law.log_ratio_var, kLambdaVar, 0.001);                   // E24
  EXPECT_NEAR(law.ratio_median, std::exp(-kLambdaCenter / 2), 0.003);  // E18
  EXPECT_NEAR(law.step_ess, std::exp(-kLambdaVar), 0.002);             // E21
  EXPECT_NEAR(law.clip_fraction, 0.1549 + 0.1559, 0.004);              // E43 at eps 0.2, nu 0.04
}

TEST(PathVariance, PathShareFallsWithEveryStep) {
  const auto laws = step_laws(law_abiding(3), 10);
  EXPECT_DOUBLE_EQ(laws[0].path_ess, laws[0].step_ess);
  for (int k = 0; k < 3; ++k) {
    EXPECT_NEAR(laws[static_cast<std::size_t>(k)].path_ess, std::exp(-kLambdaVar * (k + 1)), 0.004);  // E21
  }
}

TEST(PathVariance, AnOnPolicyStepHasNoSpread) {
  const StepRecord r{.y = {0, 0, 0}, .lambda_center = {0, 0, 0}, .ratio = {0.98, 0.98, 0.98}, .clip = 0.2};
  const auto law = step_laws(std::vector{r}, 10).front();
  EXPECT_EQ(law.log_ratio_var, 0);
  EXPECT_EQ(law.ratio_median, 1);
  EXPECT_EQ(law.step_ess, 1);
  EXPECT_EQ(law.clip_fraction, 0);
}

TEST(PathVariance, EffectiveShareDoesNotOverflowAndIgnoresCommonFactors) {
  const double small[] = {0.0, std::log(3.0)}, large[] = {1000.0, 1000.0 + std::log(3.0)};
  EXPECT_DOUBLE_EQ(effective_share(small), 16.0 / (2 * 10));
  EXPECT_NEAR(effective_share(large), effective_share(small), 1e-12);
}

TEST(PathVariance, MedianOfAnEvenNumberIsTheMiddleOfTheRatios) {
  const StepRecord r{.y = {0, 1}, .lambda_center = {0, 0}, .ratio = {1, 1}, .clip = 0.1};
  EXPECT_DOUBLE_EQ(step_laws(std::vector{r}, 1).front().ratio_median, (1 + std::exp(1.0)) / 2);
}

TEST(PathVariance, ClipFractionCountsWhatLiesOutsideTheRadius) {
  const StepRecord r{
      .y = {0, 0, 0, 0}, .lambda_center = {0, 0, 0, 0}, .ratio = {0.5, 1.05, 1.2, NAN}, .clip = 0.1};
  EXPECT_EQ(step_laws(std::vector{r}, 1).front().clip_fraction, 0.75);
  auto own = r;
  own.clipped = {0, 0, 1, 0};
  EXPECT_EQ(step_laws(std::vector{own}, 1).front().clip_fraction, 0.25)
      << "a loss that says itself what it limits";
}

TEST(PathVariance, OneSampleHasNoVariance) {
  const StepRecord r{.y = {0.1}, .lambda_center = {0.1}, .ratio = {1}, .clip = 0.1};
  EXPECT_TRUE(std::isnan(step_laws(std::vector{r}, 1).front().log_ratio_var));
}

}  // namespace
}  // namespace harness
