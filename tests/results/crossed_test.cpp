#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "results/statistics/numeric.h"
#include "results/statistics/power.h"
#include "results/statistics/verdict.h"
#include "results/verdict/run_variance.h"
#include "tests/results/crossed_noise.h"

namespace harness {
namespace {

using ::testing::ElementsAre;
using ::testing::Field;

const Differences kThreeByFive = {
    {.12, -.05, .30, .02, .11}, {.20, -.10, .25, .08, .02}, {.05, .01, .41, .00, .15}};

TEST(Crossed, AnalysisOfVarianceAgreesWithExactFractions) {
  // Python's fractions.Fraction on the textbook sums of squares, SS_S = G sum (m_s - m)^2 and so on.
  const auto squares = crossed_squares(kThreeByFive);
  EXPECT_NEAR(squares.runs, 0.0030533333333333332, 1e-15);
  EXPECT_NEAR(squares.prompts, 0.22450666666666666, 1e-15);
  EXPECT_NEAR(squares.residual, 0.04001333333333333, 1e-15);
  const auto c = *crossed(pairs_of(kThreeByFive));
  EXPECT_EQ(c.state, CrossedState::kEstimated);
  EXPECT_NEAR(c.delta, 0.10466666666666667, 1e-15);
  EXPECT_EQ(c.components.run, 0) << "-0.000695 before the floor";
  EXPECT_NEAR(c.components.prompt, 0.017041666666666667, 1e-15);
  EXPECT_NEAR(c.components.residual, 0.005001666666666666, 1e-15);
  EXPECT_NEAR(c.parts.runs, 0.00010177777777777778, 1e-15);
  EXPECT_NEAR(c.parts.prompts, 0.0034083333333333335, 1e-15);
  EXPECT_NEAR(*c.standard_error, 0.05924619068860977, 1e-14);
  ASSERT_EQ(c.per_run.size(), 3u);
  const double means[] = {0.1, 0.09, 0.124};
  for (std::size_t s = 0; s < 3; ++s) {
    EXPECT_EQ(c.per_run[s].seed, 42 + static_cast<std::int64_t>(s));
    EXPECT_NEAR(c.per_run[s].delta, means[s], 1e-15);
  }
}

TEST(Crossed, IntervalIsTheCriticalValueTimesTheStandardError) {
  const auto c = *crossed(pairs_of(kThreeByFive));
  EXPECT_NEAR(c.ci->low, c.delta - *c.critical * *c.standard_error, 1e-15);
  EXPECT_NEAR(c.ci->high, c.delta + *c.critical * *c.standard_error, 1e-15);
  EXPECT_DOUBLE_EQ(*c.critical, CriticalValue({2, 4}, 0.05)(c.parts));
  EXPECT_NEAR(t_critical(*c.freedom, 0.05), *c.critical, 1e-8);
  const auto wider = *crossed(pairs_of(kThreeByFive), 0.99);
  EXPECT_LT(wider.ci->low, c.ci->low);
  EXPECT_EQ(wider.p_value, c.p_value);
}

TEST(Crossed, IntervalAtAnotherConfidenceIsTheOneThatItWouldHaveHad) {
  const auto pairs = pairs_of(kThreeByFive);
  const auto c = *crossed(pairs), runs = *over_runs(pairs);
  for (const double confidence : {0.8, 0.95, 0.999}) {
    EXPECT_EQ(crossed_interval(c, confidence)->low, crossed(pairs, confidence)->ci->low);
    EXPECT_EQ(crossed_interval(c, confidence)->high, crossed(pairs, confidence)->ci->high);
    EXPECT_EQ(crossed_interval(runs, confidence)->low, over_runs(pairs, confidence)->ci->low);
  }
  EXPECT_FALSE(crossed_interval(*crossed(pairs_of({kThreeByFive[0]})), 0.95)) << "one run";
}

// Means of the runs 0.1, 0.09 and 0.124; scipy.stats.ttest_1samp(means, 0).
TEST(OverRuns, IsStudentsTOfTheirMeans) {
  const auto c = *over_runs(pairs_of(kThreeByFive));
  EXPECT_TRUE(c.of_runs_alone);
  EXPECT_NEAR(*c.p_value, 0.009162942034802028, 1e-12);
  EXPECT_NEAR(c.ci->low, 0.06125936621854239, 1e-12);
  EXPECT_NEAR(c.ci->high, 0.14807396711479096, 1e-12);
  EXPECT_EQ(c.freedom, 2);
}

TEST(Crossed, OrderOfPairsChangesNothing) {
  auto pairs = pairs_of(kThreeByFive);
  const auto straight = *crossed(pairs);
  std::reverse(pairs.begin(), pairs.end());
  const auto reversed = *crossed(pairs);
  EXPECT_EQ(straight.delta, reversed.delta);
  EXPECT_EQ(straight.p_value, reversed.p_value);
}

TEST(Crossed, OfRunsThatAreNotPairedTheOrderChangesNothing) {
  constexpr std::int64_t kClusters = 20;
  const double baseline[] = {0.3, 0.5, 0.4}, method[] = {0.45, 0.9, 0.6};
  const auto pairs_of = [&](const std::vector<std::size_t>& order) {
    std::vector<PairedValue> pairs;
    for (std::size_t run = 0; run < 3; ++run) {
      for (std::int64_t i = 0; i < kClusters; ++i)
        pairs.push_back({baseline[run] + 0.01 * std::sin(static_cast<double>(i * 7 + run)),
                         method[order[run]] + 0.01 * std::cos(static_cast<double>(i * 5 + order[run])), i,
                         static_cast<std::int64_t>(run)});
    }
    return pairs;
  };
  const auto straight = pairs_of({0, 1, 2}), turned = pairs_of({2, 0, 1});
  EXPECT_GT(std::abs(*crossed(straight)->standard_error - *crossed(turned)->standard_error), 0.01);
  const auto a = *crossed(straight, 0.95, false), b = *crossed(turned, 0.95, false);
  EXPECT_NEAR(a.delta, b.delta, 1e-14);
  EXPECT_NEAR(*a.standard_error, *b.standard_error, 1e-14);
  EXPECT_NEAR(*a.p_value, *b.p_value, 1e-12);
  // Variances of the means of runs 0.01 and 0.0525, prompts that hardly matter.
  EXPECT_NEAR(*a.standard_error, std::sqrt((0.01 + 0.0525) / 3), 2e-3);
}

/// Four runs of four prompts on either side, the method's with this much more on each prompt.
std::vector<PairedValue> unpaired(const std::vector<double>& more) {
  const Differences baseline = {
      {.10, .35, .62, .80}, {.18, .30, .70, .91}, {.05, .41, .55, .84}, {.12, .38, .66, .79}};
  const Differences method = {
      {.31, .52, .60, .99}, {.02, .33, .71, .70}, {.44, .80, .93, .97}, {.20, .47, .58, .90}};
  std::vector<PairedValue> pairs;
  for (std::size_t run = 0; run < 4; ++run) {
    for (std::size_t i = 0; i < 4; ++i)
      pairs.push_back({baseline[run][i], method[run][i] + more[i], static_cast<std::int64_t>(i),
                       static_cast<std::int64_t>(run)});
  }
  return pairs;
}

TEST(Crossed, OfRunsThatAreNotPairedIsWelchsTOfTheirMeansWherePromptsAddNothing) {
  const auto c = *crossed(unpaired({0, 0, 0, 0}), 0.95, false);
  EXPECT_EQ(c.parts.prompts, 0);
  // scipy.stats.ttest_ind(method.mean(1), baseline.mean(1), equal_var=False)
  EXPECT_NEAR(c.parts_freedom.runs, 3.210004191664683, 1e-12);
  EXPECT_NEAR(*c.freedom, 3.210004191664683, 1e-6);
  EXPECT_NEAR(*c.p_value, 0.23870605202379264, 1e-9);
  EXPECT_NEAR(c.ci->low, -0.12015441847522768, 1e-12);
  EXPECT_NEAR(c.ci->high, 0.33390441847522745, 1e-12);
}

TEST(Crossed, OfRunsThatAreNotPairedHasWelchsDegreesOfFreedomBesideThoseOfThePrompts) {
  const auto c = *crossed(unpaired({-.4, .3, 0, .5}), 0.95, false);
  // numpy on the sums of squares of either side: (S - 1) (A + B)^2 / (A^2 + B^2) and so on.
  EXPECT_NEAR(c.parts_freedom.runs, 3.210004191664683, 1e-12);
  EXPECT_EQ(c.parts_freedom.prompts, 3);
  EXPECT_NEAR(c.parts.runs, 0.005476432291666664, 1e-15);
  EXPECT_NEAR(c.parts.prompts, 0.03552604166666667, 1e-14);
  EXPECT_DOUBLE_EQ(*c.critical, CriticalValue(c.parts_freedom, 0.05)(c.parts));
}

TEST(Crossed, OfRunsThatAreNotPairedHasOneToTwoTimesTheDegreesOfFreedomOfPairs) {
  constexpr double kRuns[] = {0.1, 0.4, 0.2, 0.1};  // those of one side beside others of the other
  const auto freedom_of = [&](double theirs, double ours) {
    std::vector<PairedValue> pairs;
    for (std::int64_t run = 0; run < 3; ++run) {
      for (std::int64_t i = 0; i < 20; ++i)
        pairs.push_back(
            {theirs * kRuns[run] + 0.01 * std::sin(static_cast<double>(i)), ours * kRuns[run + 1], i, run});
    }
    return crossed(pairs, 0.95, false)->parts_freedom.runs;
  };
  EXPECT_NEAR(freedom_of(1, 1), 4, 1e-9) << "as far apart on either side";
  EXPECT_NEAR(freedom_of(1, 0), 2, 1e-9) << "on one side alone";
  EXPECT_NEAR(freedom_of(2, 1), 2 * 25.0 / 17, 1e-9) << "variances 4 and 1";
  EXPECT_EQ(crossed(pairs_of(kThreeByFive))->parts_freedom.runs, 2);
}

TEST(Crossed, WithoutNoiseBetweenRunsIsThePairedTOverClusters) {
  std::vector<PairedValue> pairs;  // clusters of one and of two pairs, the same in two runs
  for (std::int64_t seed = 0; seed < 2; ++seed) {
    for (std::int64_t i = 0; i < 30; ++i)
      pairs.push_back(
          {0.0, 0.1 * std::sin(12.9898 * static_cast<double>(i)) + 0.02, i / 2 + i % 2 * (i / 20), seed});
  }
  const auto c = *crossed(pairs);
  const auto pooled = compare_paired(pairs, Better::kUp, {.resamples = 100});
  EXPECT_NEAR(c.delta, *pooled.delta, 1e-15);
  EXPECT_NEAR(*c.standard_error, *pooled.standard_error, 1e-15);
  EXPECT_NEAR(*c.p_value, *pooled.p_value, 1e-9);
  EXPECT_NEAR(c.components.run, 0, 1e-30);
}

TEST(Crossed, ThreeRunsThatAgreeToTheBitTellNoSpreadBetweenRuns) {
  const auto copies = *crossed(pairs_of({kThreeByFive[0], kThreeByFive[0], kThreeByFive[0]}));
  EXPECT_EQ(copies.state, CrossedState::kNoSpread);
  EXPECT_FALSE(copies.p_value || copies.ci || copies.standard_error);
  auto nearly = kThreeByFive[0];
  nearly[0] += 1e-9;
  EXPECT_EQ(crossed(pairs_of({kThreeByFive[0], kThreeByFive[0], nearly}))->state, CrossedState::kEstimated);
}

TEST(Crossed, WithoutNoiseOfPromptsIsTheTOverRuns) {
  Differences differences(4);
  const double runs[] = {0.02, 0.05, 0.01, 0.03};
  for (std::size_t s = 0; s < 4; ++s) differences[s].assign(50, runs[s]);
  const auto c = *crossed(pairs_of(differences));
  // mean 0.0275, s = 0.01707825, t = 3.220306 with 3 degrees of freedom
  EXPECT_NEAR(*c.standard_error, 0.00853912563829967, 1e-12);
  EXPECT_NEAR(*c.p_value, t_p_value(0.0275 / 0.00853912563829967, 3), 1e-8);
  EXPECT_NEAR(*c.freedom, 3, 1e-6);
}

TEST(Crossed, DoesNotSubtractWherePromptsDifferLessThanTheResidual) {
  const Differences differences = {{.1, .3, .1, .3}, {.4, .2, .4, .2}, {.2, .2, .2, .2}};
  const auto squares = crossed_squares(differences);
  ASSERT_LT(squares.prompts / 3, squares.residual / 6);
  const auto c = *crossed(pairs_of(differences));
  EXPECT_EQ(c.components.prompt, 0);
  EXPECT_EQ(c.parts.prompts, 0);
  EXPECT_NEAR(*c.standard_error, std::sqrt(squares.runs / 2 / 12), 1e-15);
}

TEST(Crossed, LeavesOutAPromptThatOneRunLacks) {
  auto pairs = pairs_of(kThreeByFive);
  pairs[2].method.reset();  // run 42, prompt 2, by far the largest difference
  const auto c = *crossed(pairs);
  EXPECT_EQ(c.clusters, 4);
  EXPECT_EQ(c.clusters_left_out, 1);
  EXPECT_NEAR(c.delta, (.20 / 4 + .20 / 4 + .21 / 4) / 3, 1e-15);
  EXPECT_THAT(c.per_run, ElementsAre(Field(&RunDifference::delta, ::testing::DoubleNear(.05, 1e-15)),
                                     Field(&RunDifference::delta, ::testing::DoubleNear(.05, 1e-15)),
                                     Field(&RunDifference::delta, ::testing::DoubleNear(.0525, 1e-15))));
}

TEST(Crossed, ANumberBeyondTheLargestScoreCountsAsMissing) {
  for (const double broken :
       {1e101, std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    auto pairs = pairs_of(kThreeByFive);
    pairs[2].method = broken;
    const auto c = *crossed(pairs);
    EXPECT_EQ(c.clusters_left_out, 1);
    EXPECT_TRUE(std::isfinite(*c.standard_error));
  }
}

TEST(Crossed, HoldsTheLargestScores) {
  auto differences = kThreeByFive;
  for (auto& run : differences) {
    for (auto& value : run) value *= 1e99;
  }
  const auto large = *crossed(pairs_of(differences));
  EXPECT_NEAR(*large.p_value, *crossed(pairs_of(kThreeByFive))->p_value, 1e-9);
}

TEST(Crossed, AClusterCountsWithTheNumberOfItsPairs) {
  std::vector<PairedValue> pairs;
  for (std::int64_t seed = 0; seed < 2; ++seed) {
    pairs.push_back({0.0, 0.3, 1, seed});
    pairs.push_back({0.0, 0.6, 1, seed});
    pairs.push_back({0.0, 0.0, 2, seed});
  }
  EXPECT_NEAR(crossed(pairs)->delta, 0.3, 1e-15);
}

Differences constant(std::size_t runs, std::size_t prompts, double value) {
  return Differences(runs, std::vector<double>(prompts, value));
}

TEST(Crossed, HasNoEstimateWithoutASpreadOrWithOneRunOrCluster) {
  struct Row {
    Differences differences;
    CrossedState state;
    double delta;
  };
  const std::vector<Row> rows = {{constant(3, 10, 0), CrossedState::kEqual, 0},
                                 {constant(1, 10, 0), CrossedState::kEqual, 0},
                                 {constant(3, 10, 0.1), CrossedState::kNoSpread, 0.1},
                                 {{kThreeByFive[0]}, CrossedState::kTooFewRuns, 0.1},
                                 {{{.1}, {.2}, {.3}}, CrossedState::kTooFewClusters, 0.2}};
  for (const auto& [differences, state, delta] : rows) {
    const auto c = *crossed(pairs_of(differences));
    EXPECT_EQ(c.state, state) << differences.size() << " runs, " << differences[0][0];
    EXPECT_NEAR(c.delta, delta, 1e-15);
    EXPECT_FALSE(c.p_value || c.ci || c.standard_error);
  }
}

TEST(Crossed, SaysNothingWhereNoClusterIsCompleteInEveryRun) {
  EXPECT_FALSE(crossed({}).has_value());
  const std::vector<PairedValue> apart = {{0.0, 1.0, 1, 42}, {0.0, 1.0, 2, 43}};
  EXPECT_FALSE(crossed(apart).has_value());
  const std::vector<PairedValue> missing = {{0.0, std::nullopt, 1, 42}};
  EXPECT_FALSE(crossed(missing).has_value());
}

TEST(Crossed, DifferencesThatCancelWithinAClusterAreNotEqual) {
  std::vector<PairedValue> pairs;
  for (std::int64_t seed = 0; seed < 2; ++seed) {
    for (std::int64_t cluster = 0; cluster < 3; ++cluster) {
      pairs.push_back({0.0, 1.0, cluster, seed});
      pairs.push_back({1.0, 0.0, cluster, seed});
    }
  }
  EXPECT_EQ(crossed(pairs)->state, CrossedState::kNoSpread);
}

/// Share of intervals that hold the true difference 0.3.
double coverage(const Noise& noise, std::size_t runs, std::size_t prompts, int simulations) {
  Normal normal(20260501);
  int covered = 0;
  for (int i = 0; i < simulations; ++i) {
    const auto seen = judged(simulated(noise, 0.3, runs, prompts, normal));
    covered += std::abs(seen.delta - 0.3) <= seen.half_width ? 1 : 0;
  }
  return static_cast<double>(covered) / simulations;
}

TEST(CrossedCoverage, Is94To96PercentWhateverTheNoise) {
  for (const std::size_t runs : {3, 5, 8}) {
    for (const auto& noise : {Noise{0, 0, 1}, {0.1, 1, 0}, {0.2, 0.7, 0.7}, {1, 0.7, 0.7}}) {
      const double share = coverage(noise, runs, 40, 4000);
      EXPECT_NEAR(share, 0.95, 0.01 + 1e-9)
          << runs << ": " << noise.run << " " << noise.prompt << " " << noise.residual;
    }
  }
}

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

TEST(RunsNeeded, AreTheFewestWithThePowerAndAtLeastThree) {
  const auto runs = *runs_needed(0.008, kGlyph, 762);
  EXPECT_GE(crossed_power(0.008, kGlyph, runs, 762), 0.8);
  EXPECT_LT(crossed_power(0.008, kGlyph, runs - 1, 762), 0.8);
  EXPECT_EQ(runs_needed(-0.008, kGlyph, 762), runs);
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

Comparison of_rows(const std::string& baseline, const std::string& method, double spread) {
  auto differences = kThreeByFive;
  for (std::size_t run = 0; run < differences.size(); ++run) {
    for (auto& difference : differences[run]) difference += spread * (static_cast<double>(run) - 1);
  }
  return {.metric = "m",
          .baseline = baseline,
          .method = method,
          .values = compare_paired(pairs_of(differences), Better::kUp)};
}

TEST(RunVariance, BelowTheMedianOfThePageIsRaisedToIt) {
  std::vector<Comparison> page = {of_rows("a", "b", 0), of_rows("a", "c", .3), of_rows("a", "d", .1),
                                  of_rows("base", "a", 0)};
  const auto before = page;
  const RunVariances variances(page);
  for (auto& comparison : page) variances.raise(comparison);
  const auto crossed_at = [&](const auto& of, std::size_t i) { return *of[i].values.crossed; };
  EXPECT_DOUBLE_EQ(crossed_at(page, 0).parts.runs, crossed_at(before, 2).parts.runs);
  EXPECT_GT(*crossed_at(page, 0).p_value, *crossed_at(before, 0).p_value);
  EXPECT_GT(crossed_at(page, 0).components.run, 0);
  EXPECT_LT(crossed_at(page, 0).ci->low, crossed_at(before, 0).ci->low);
  for (const std::size_t as_it_was : {1, 2, 3}) {
    EXPECT_EQ(crossed_at(page, as_it_was).parts.runs, crossed_at(before, as_it_was).parts.runs);
    EXPECT_EQ(crossed_at(page, as_it_was).p_value, crossed_at(before, as_it_was).p_value);
  }
  auto turned = of_rows("b", "a", 0);
  variances.raise(turned);
  EXPECT_EQ(turned.values.crossed->p_value, page[0].values.crossed->p_value);
  // Of two the mean.
  std::vector<Comparison> two = {of_rows("a", "b", 0), of_rows("a", "c", .3)};
  const double mean = (crossed_at(two, 0).parts.runs + crossed_at(two, 1).parts.runs) / 2;
  const RunVariances of_two(two);
  for (auto& comparison : two) of_two.raise(comparison);
  EXPECT_DOUBLE_EQ(crossed_at(two, 0).parts.runs, mean);
}

TEST(MissingValues, CountAtTheirWorst) {
  // Twenty prompts in three runs, the method .2 above the baseline, and one value or many missing.
  PairedMetric metric;
  for (int seed = 0; seed < 3; ++seed) {
    for (int prompt = 0; prompt < 20; ++prompt) {
      const double value = .5 + .02 * (prompt % 5) + .01 * seed;
      metric.pairs.push_back({.baseline = value,
                              .method = value + .2 + .01 * ((prompt * (seed + 1)) % 3),
                              .cluster = prompt,
                              .seed = seed});
    }
  }
  const auto whole = compare_paired(std::span(&metric, 1)).front();
  EXPECT_FALSE(whole.missing);
  EXPECT_EQ(tested_p(whole, Claim::kMethods), whole.crossed->p_value);
  const double low = .5;  // of all values
  double high = 0;
  for (const auto& pair : metric.pairs) high = std::max(high, *pair.method);
  metric.pairs[7].method.reset();
  const auto one = compare_paired(std::span(&metric, 1)).front();
  auto completed = metric;
  completed.pairs[7].method = low;
  const auto worst = compare_paired(std::span(&completed, 1)).front();
  EXPECT_EQ(one.n_missing, 1);
  EXPECT_EQ(tested_p(one, Claim::kMethods), worst.crossed->p_value);
  EXPECT_EQ(tested_p(one, Claim::kCheckpoints), worst.p_value);
  EXPECT_GT(*tested_p(one, Claim::kMethods), *one.crossed->p_value);
  EXPECT_DOUBLE_EQ(one.missing->lowest_delta, *worst.delta);
  EXPECT_NEAR(one.missing->highest_delta - one.missing->lowest_delta, (high - low) / 60, 1e-12);
  for (std::size_t i = 0; i < metric.pairs.size(); ++i) {
    if (metric.pairs[i].cluster % 7 > 0) metric.pairs[i].method.reset();
  }
  EXPECT_EQ(tested_p(compare_paired(std::span(&metric, 1)).front(), Claim::kMethods), 1)
      << "the sign could turn";
}

}  // namespace
}  // namespace harness
