#include "results/statistics/power.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/results/crossed_noise.h"

namespace harness {
namespace {

const VarianceComponents kRunsOnly{.run = 1}, kPromptsOnly{.prompt = 1};
const VarianceComponents kMixed{.run = 1, .prompt = 100, .residual = 100};
const double kErrorOf762 = 1 / std::sqrt(762.0);  // of a standard deviation of 1

PowerSettings with_level(double level, double power = 0.8) {
  return {.confidence = 1 - level, .power = power};
}

// statsmodels 0.15.0, from statsmodels.stats.power import TTestPower, NormalIndPower; t = TTestPower()
TEST(Planning, ClaimsAboutCheckpointsAgreeWithStatsmodels) {
  // t.power(0.05, 762, 0.05), t.power(0.1, 762, 0.05), t.power(0.1, 762, 0.0025)
  EXPECT_NEAR(power_of(.05, kErrorOf762, 762), 0.2808769883303799, 1e-10);
  EXPECT_NEAR(power_of(.1, kErrorOf762, 762), 0.7872714873280487, 1e-10);
  EXPECT_NEAR(power_of(.1, kErrorOf762, 762, with_level(.0025)), 0.39312135581803415, 1e-10);
  // t.solve_power(effect_size=0.1, nobs=None, alpha=0.05, power=0.8) = 786.81, rounded up; likewise
  // 0.5: 33.37, 0.01: 78490.53, and 0.1 with alpha=0.05/20, power=0.9: 1857.78
  EXPECT_EQ(units_needed(.1, kErrorOf762, 762), 787);
  EXPECT_EQ(units_needed(.5, kErrorOf762, 762), 34);
  EXPECT_EQ(units_needed(.01, kErrorOf762, 762), 78491);
  EXPECT_EQ(units_needed(.1, kErrorOf762, 762, with_level(.05 / 20, .9)), 1858);
  // NormalIndPower().solve_power(effect_size=None, nobs1=762, alpha=0.05, power=0.8, ratio=0): the normal
  // limit
  EXPECT_NEAR(*detectable_effect(kErrorOf762, 762), 0.10149059834829509, 1.5e-3 * 0.1015);
}

TEST(Planning, ClaimsAboutMethodsWhoseRunsAreAllTheNoiseAgreeWithStatsmodels) {
  // t.power(1.5, n, 0.05) and t.power(1.5, n, 0.0025)
  EXPECT_NEAR(crossed_power(1.5, kRunsOnly, 3, 762), 0.3163818615591505, 1e-6);
  EXPECT_NEAR(crossed_power(1.5, kRunsOnly, 5, 762), 0.7107026739256754, 1e-6);
  EXPECT_NEAR(crossed_power(1.5, kRunsOnly, 8, 762), 0.9509518161502247, 1e-6);
  EXPECT_NEAR(crossed_power(1.5, kRunsOnly, 5, 762, with_level(.0025)), 0.11195008920187033, 1e-6);
  EXPECT_NEAR(crossed_power(1.5, kRunsOnly, 8, 762, with_level(.0025)), 0.4602534155543712, 1e-6);
  // t.solve_power(effect_size=None, nobs=n, alpha=0.05, power=0.8)
  EXPECT_NEAR(*crossed_detectable_effect(kRunsOnly, 3, 762), 3.264043552819638, 1e-5);
  EXPECT_NEAR(*crossed_detectable_effect(kRunsOnly, 5, 762), 1.6819970833232674, 1e-5);
  EXPECT_NEAR(*crossed_detectable_effect(kRunsOnly, 8, 762), 1.156035271959959, 1e-5);
  // t.solve_power(effect_size=1.0, nobs=None, alpha=0.05, power=0.8) = 9.94; 0.7 with power=0.9: 23.45
  EXPECT_EQ(runs_needed(1, kRunsOnly, 762), 10);
  EXPECT_EQ(runs_needed(.7, kRunsOnly, 762, with_level(.05, .9)), 24);
}

TEST(Planning, ClaimsAboutMethodsWhosePromptsAreAllTheNoiseAgreeWithStatsmodels) {
  // t.solve_power(effect_size=0.1, nobs=None, alpha=0.05, power=0.8) = 786.81
  EXPECT_EQ(prompts_needed(.1, kPromptsOnly, 3), 787);
}

struct Found {
  double power = 0, with_prompts = 0, coverage = 0;
};

/// How often the rule finds `effect` in differences that `draw` gives, alone and where the interval over
/// prompts has to leave out 0 as well, and how often its interval holds the effect.
template <class Draw>
Found found_in(const Draw& draw, double effect, int simulations) {
  Found found;
  for (int i = 0; i < simulations; ++i) {
    const auto seen = judged(draw());
    const bool beyond = std::abs(seen.delta) > seen.half_width;
    found.power += beyond ? 1.0 / simulations : 0;
    found.with_prompts +=
        beyond && std::abs(seen.delta) > seen.half_width_over_prompts ? 1.0 / simulations : 0;
    found.coverage += std::abs(seen.delta - effect) <= seen.half_width ? 1.0 / simulations : 0;
  }
  return found;
}

// Four standard errors of 3,000 simulations are 0.029 at 0.8 and 0.016 at 0.95. The prompts' part counts as
// known in the prediction, and 40 prompts tell it roughly.
TEST(Planning, TheRuleFindsTheDetectableEffectIn80PercentOfSimulatedComparisons) {
  Normal normal(20260501);
  for (const std::size_t runs : {3, 5, 8}) {
    for (const auto& noise : {Noise{0, 0, 1}, {0.1, 1, 0}, {0.2, 0.7, 0.7}, {1, 0.7, 0.7}}) {
      const VarianceComponents truth{.run = noise.run * noise.run,
                                     .prompt = noise.prompt * noise.prompt,
                                     .residual = noise.residual * noise.residual};
      const double effect = *crossed_detectable_effect(truth, static_cast<std::int64_t>(runs), 40);
      const auto found = found_in([&] { return simulated(noise, effect, runs, 40, normal); }, effect, 3000);
      EXPECT_NEAR(found.power, 0.8, 0.035) << runs << ": " << noise.run;
      EXPECT_NEAR(found.with_prompts, 0.8, 0.05) << "what a verdict asks: " << runs << ": " << noise.run;
      EXPECT_NEAR(found.coverage, 0.95, 0.016) << runs << ": " << noise.run;
    }
  }
}

/// dual - ratio-norm in ocr_reward, in hundredths: 3 runs of 48 test prompts of
/// `harness reproduce --table sd35-ocr --scale smoke --seeds 42..44`. Two thirds are 0, a few near 1.
constexpr int kRealDifferences[3][48] = {
    {0, 0,  0, 0, 0,  0,  0,  0, 0, -17, 0, 0, 0, 0, 0, 0, 12, 7, 0, 0, 0, 0, 0, 9,
     0, -6, 0, 0, 87, 40, -5, 0, 9, 0,   0, 0, 0, 0, 5, 0, 0,  0, 0, 0, 8, 0, 0, 0},
    {0, -6, 0,   0, 0, 0, 0,  -32, 0, 0, -83, 0, -6, -6, 9, 5, 0,    0, 0,   0, -55, 0, -8,  0,
     0, 0,  -11, 0, 0, 0, -5, 0,   0, 0, 7,   0, 0,  0,  5, 0, -100, 0, -12, 0, 0,   0, -95, 0},
    {5, -6, 0, -40, 0, 0, -7, 0, 0, 8, 0, -6, -76, 0, 0, 0, -19, 7, -9, 0, -5,  6, 8, 9,
     0, 0,  0, 0,   0, 0, 5,  0, 0, 0, 0, 0,  0,   0, 0, 0, 8,   0, 6,  0, -50, 6, 0, -6}};

/// A world whose prompts are the real ones: a prompt's difference in a run is that of a run at random. Runs
/// differ by a normal part besides.
struct RealWorld {
  Differences centred;  ///< [3][48], each run less its mean
  VarianceComponents truth;

  explicit RealWorld(double run) : truth{.run = run} {
    for (const auto& real : kRealDifferences) {
      std::vector<double> values(std::begin(real), std::end(real));
      for (auto& value : values) value /= 100;
      const double centre = mean(values);
      for (auto& value : values) value -= centre;
      centred.push_back(std::move(values));
    }
    for (std::size_t p = 0; p < 48; ++p) {
      const double runs[] = {centred[0][p], centred[1][p], centred[2][p]};
      truth.prompt += mean(runs) * mean(runs) / 48;
      truth.residual += squares_about(mean(runs), runs) / 3 / 48;
    }
  }

  Differences draw(double effect, std::size_t runs, std::size_t prompts, Normal& normal,
                   std::mt19937_64& bits) const {
    Differences differences(runs, std::vector<double>(prompts));
    std::vector<double> shifts(runs);
    for (auto& shift : shifts) shift = effect + normal(std::sqrt(truth.run));
    for (std::size_t p = 0; p < prompts; ++p) {
      const auto prompt = bits() % 48;
      for (std::size_t r = 0; r < runs; ++r) differences[r][p] = shifts[r] + centred[bits() % 3][prompt];
    }
    return differences;
  }
};

// The spread of the real runs, a tenth of it, and none. Differences are far from normal.
TEST(Planning, TheRuleFindsTheDetectableEffectIn80PercentOfRealPromptsDrawnAgain) {
  Normal normal(20260501);
  std::mt19937_64 bits(42);
  for (const double run : {0.0025, 0.00025, 0.0}) {
    const RealWorld world(run);
    for (const std::size_t runs : {3, 5, 8}) {
      for (const std::size_t prompts : {200, 762}) {
        const double effect = *crossed_detectable_effect(world.truth, static_cast<std::int64_t>(runs),
                                                         static_cast<std::int64_t>(prompts));
        const auto found =
            found_in([&] { return world.draw(effect, runs, prompts, normal, bits); }, effect, 1000);
        EXPECT_NEAR(found.power, 0.8, 0.055) << run << ": " << runs << " runs, " << prompts << " prompts";
        EXPECT_NEAR(found.with_prompts, 0.8, 0.07) << run << ": " << runs << " runs, " << prompts;
        EXPECT_NEAR(found.coverage, 0.95, 0.028) << run << ": " << runs << " runs, " << prompts;
      }
    }
  }
}

TEST(Planning, MoreRunsAndMorePromptsFindSmallerEffects) {
  double before = 1e9;
  for (const std::int64_t runs : {2, 3, 5, 8, 20}) {
    const double effect = *crossed_detectable_effect(kMixed, runs, 762);
    EXPECT_LT(effect, before) << runs;
    before = effect;
  }
  before = 1e9;
  for (const std::int64_t prompts : {16, 100, 762, 10'000, 1'000'000}) {
    const double effect = *crossed_detectable_effect(kMixed, 5, prompts);
    EXPECT_LT(effect, before) << prompts;
    before = effect;
  }
}

TEST(PromptsNeeded, AreTheFewestWithThePower) {
  for (const std::int64_t runs : {3, 5, 8}) {
    const auto prompts = *prompts_needed(4, kMixed, runs);
    EXPECT_GE(crossed_power(4, kMixed, runs, prompts), 0.8) << runs;
    EXPECT_LT(crossed_power(4, kMixed, runs, prompts - 1), 0.8) << runs;
    EXPECT_EQ(prompts_needed(-4, kMixed, runs), prompts);
  }
}

TEST(PromptsNeeded, NoNumberMakesUpForTooFewRuns) {
  EXPECT_FALSE(prompts_needed(3.2, kMixed, 3).has_value()) << "3 runs alone find 3.264";
  EXPECT_TRUE(prompts_needed(3.3, kMixed, 3).has_value());
  EXPECT_FALSE(prompts_needed(1.6, kMixed, 5).has_value()) << "5 runs alone find 1.682";
  EXPECT_TRUE(prompts_needed(1.7, kMixed, 5).has_value());
}

TEST(CrossedPower, PromisesNothingBelowThePromptsThatAClaimNeeds) {
  EXPECT_FALSE(crossed_detectable_effect(kMixed, 8, kFewestPrompts - 1).has_value());
  EXPECT_TRUE(crossed_detectable_effect(kMixed, 8, kFewestPrompts).has_value());
  EXPECT_FALSE(runs_needed(100, kMixed, kFewestPrompts - 1).has_value());
  EXPECT_EQ(runs_needed(100, kMixed, kFewestPrompts), kFewestRuns);
  EXPECT_EQ(prompts_needed(100, kMixed, 8), kFewestPrompts);
}

TEST(PromptsNeeded, SayNothingWithoutAnEffectASpreadOrTwoRuns) {
  EXPECT_FALSE(prompts_needed(0, kMixed, 3).has_value());
  EXPECT_FALSE(prompts_needed(1, {}, 3).has_value());
  EXPECT_FALSE(prompts_needed(9, kMixed, 1).has_value());
}

TEST(StandardError, OfADesignIsThatOfItsComponents) {
  EXPECT_DOUBLE_EQ(crossed_standard_error(kMixed, 4, 100), std::sqrt((1 + 1.0) / 4 + 1));
  EXPECT_DOUBLE_EQ(checkpoints_standard_error(kMixed, 1, 100), std::sqrt(2.0));
  EXPECT_DOUBLE_EQ(checkpoints_standard_error(kMixed, 4, 100), std::sqrt(1.25));
}

TEST(ImageNoise, IsThePooledVarianceWithinARunAndPrompt) {
  const std::vector<PairedValue> pairs = {{0.0, 1.0, 1, 42}, {0.0, 3.0, 1, 42}, {0.0, 5.0, 2, 42},
                                          {0.0, 5.0, 2, 42}, {0.0, 2.0, 1, 43}, {0.0, 4.0, 1, 43},
                                          {0.0, 0.0, 2, 43}, {1.0, 1.0, 2, 43}, {0.0, std::nullopt, 2, 43}};
  const auto noise = image_noise(pairs);
  EXPECT_DOUBLE_EQ(noise.images, 2);
  EXPECT_DOUBLE_EQ(*noise.variance, (2.0 + 0 + 2 + 0) / 4);
  EXPECT_FALSE(image_noise(std::vector<PairedValue>{{0.0, 1.0, 1, 42}, {0.0, 1.0, 2, 42}}).variance);
}

TEST(ImageNoise, ShrinksTheResidualByItsShare) {
  const VarianceComponents c{.run = 1, .prompt = 2, .residual = 5};
  EXPECT_DOUBLE_EQ(with_images(c, {.images = 2, .variance = 4.0}, 4).residual, 3 + 4.0 / 4);
  EXPECT_DOUBLE_EQ(with_images(c, {.images = 2, .variance = 4.0}, 2).residual, 5);
  EXPECT_DOUBLE_EQ(with_images(c, {}, 5).residual, 1) << "unknown: at best all of it";
  EXPECT_DOUBLE_EQ(with_images(c, {.images = 1, .variance = 9.0}, 1e9).residual, 5 / 1e9) << "never below 0";
  EXPECT_DOUBLE_EQ(with_images(c, {}, 5).run, 1);
}

}  // namespace
}  // namespace harness
