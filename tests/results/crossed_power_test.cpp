#include "results/statistics/crossed_power.h"

#include <gtest/gtest.h>

#include <cmath>

namespace harness {
namespace {

/// 762 prompts with a standard error of .0034 for one run, half of it in all runs alike; runs .006 apart.
const VarianceComponents kGlyph{.run = 3.6e-5, .prompt = 0.0044, .residual = 0.0044};

TEST(CrossedPower, OfTheDetectableEffectIs80Percent) {
  for (const std::int64_t runs : {2, 3, 5, 8, 40}) {
    const auto effect = crossed_detectable_effect(kGlyph, runs, 762);
    ASSERT_TRUE(effect.has_value());
    EXPECT_NEAR(crossed_power(*effect, kGlyph, runs, 762), 0.8, 1e-6) << runs;
  }
}

TEST(CrossedPower, OfNoEffectIsTheLevel) {
  EXPECT_LE(crossed_power(0, kGlyph, 3, 762), 0.0505);
  EXPECT_GE(crossed_power(0, kGlyph, 3, 762), 0.04);
}

TEST(CrossedPower, WithRunNoiseAloneIsThatOfThePairedTOverRuns) {
  const VarianceComponents runs_only{.run = 1, .prompt = 0, .residual = 0};
  for (const std::int64_t runs : {3, 5, 8}) {
    const double error = 1 / std::sqrt(static_cast<double>(runs));
    EXPECT_NEAR(*crossed_detectable_effect(runs_only, runs, 762), *detectable_effect(error, runs),
                2e-4 * *detectable_effect(error, runs));
  }
}

TEST(CrossedPower, WithPromptNoiseAloneIsThatOfThePairedTOverPrompts) {
  const VarianceComponents prompts_only{.run = 0, .prompt = 1, .residual = 0};
  EXPECT_NEAR(*crossed_detectable_effect(prompts_only, 3, 762), *detectable_effect(1 / std::sqrt(762.0), 762),
              1e-4);
}

TEST(CrossedPower, MoreRunsFindSmallerEffects) {
  const auto usual = detectable_at_usual_runs(kGlyph, 762);
  ASSERT_EQ(usual.size(), 3u);
  EXPECT_EQ(usual[0].runs, 3);
  EXPECT_EQ(usual[2].runs, 8);
  EXPECT_GT(usual[0].effect, usual[1].effect);
  EXPECT_GT(usual[1].effect, usual[2].effect);
}

TEST(RunsNeeded, AreTheFewestWithThePower) {
  const auto runs = *runs_needed(0.008, kGlyph, 762);
  EXPECT_GE(crossed_power(0.008, kGlyph, runs, 762), 0.8);
  EXPECT_LT(crossed_power(0.008, kGlyph, runs - 1, 762), 0.8);
  EXPECT_EQ(runs_needed(-0.008, kGlyph, 762), runs);
}

TEST(RunsNeeded, AreAtLeastThree) {
  EXPECT_EQ(runs_needed(1, kGlyph, 762), kFewestRuns);
}

TEST(RunsNeeded, NoNumberMakesUpForTooFewPrompts) {
  EXPECT_FALSE(runs_needed(0.002, kGlyph, 762).has_value());
  EXPECT_TRUE(runs_needed(0.002, kGlyph, 76200).has_value());
}

TEST(CrossedPower, SaysNothingWithoutAnEffectOrASpread) {
  EXPECT_FALSE(runs_needed(0, kGlyph, 762).has_value());
  EXPECT_FALSE(runs_needed(0.1, {}, 762).has_value());
  EXPECT_FALSE(crossed_detectable_effect({}, 3, 762).has_value());
  EXPECT_FALSE(crossed_detectable_effect(kGlyph, 1, 762).has_value());
  EXPECT_FALSE(crossed_detectable_effect(kGlyph, 3, 1).has_value());
  EXPECT_TRUE(detectable_at_usual_runs({}, 762).empty());
}

}  // namespace
}  // namespace harness
