// The tests and figures that stand beside an interval: ranks, McNemar, Wilson, influence, power, and the
// verdict in words.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "results/statistics/outcomes.h"
#include "results/statistics/power.h"
#include "results/statistics/statistics.h"
#include "results/statistics/verdict.h"

namespace harness {
namespace {

/// `both`, `method`, `baseline`, `none`: prompts that both arms, one of them, or neither get right.
std::vector<PairedValue> rate_pairs(int both, int method, int baseline, int none) {
  std::vector<PairedValue> pairs;
  const auto add = [&](int count, double a, double b) {
    for (int i = 0; i < count; ++i) pairs.push_back({a, b, static_cast<std::int64_t>(pairs.size())});
  };
  add(both, 1, 1);
  add(method, 0, 1);
  add(baseline, 1, 0);
  add(none, 0, 0);
  return pairs;
}

TEST(McNemar, IsTheTestOfARate) {
  const auto result = compare_paired(rate_pairs(20, 9, 3, 8), Better::kUp);
  EXPECT_EQ(result.test, "mcnemar-exact");
  EXPECT_EQ(result.tests.mcnemar->only_method, 9);
  EXPECT_EQ(result.tests.mcnemar->only_baseline, 3);
  EXPECT_NEAR(*result.p_value, 0.14599609375, 1e-15);  // scipy.stats.binomtest(9, 12).pvalue
  EXPECT_NEAR(result.tests.t->p_value, 0.0832, 5e-5) << "the paired t stands beside it";
}

TEST(McNemar, NeedsIndependentPairs) {
  auto pairs = rate_pairs(20, 9, 3, 8);
  for (auto& pair : pairs) pair.cluster /= 2;
  const auto result = compare_paired(pairs, Better::kUp);
  EXPECT_EQ(result.test, "paired-t-clustered");
  EXPECT_FALSE(result.tests.mcnemar.has_value());
}

TEST(McNemar, IsNotTakenWhereEveryValueIsTheSame) {
  EXPECT_EQ(compare_paired(rate_pairs(0, 0, 0, 30), Better::kUp).test, "paired-t");
  EXPECT_EQ(compare_paired(rate_pairs(30, 0, 0, 0), Better::kUp).test, "paired-t");
}

TEST(SignTest, IsTwoSidedAndExact) {
  EXPECT_NEAR(sign_test(9, 3), 0.14599609375, 1e-15);  // scipy.stats.binomtest(9, 12).pvalue
  EXPECT_EQ(sign_test(3, 9), sign_test(9, 3));
  EXPECT_EQ(sign_test(5, 5), 1.0);
  EXPECT_EQ(sign_test(0, 0), 1.0);
}

TEST(WilcoxonExact, IsRefusedWhereItDoesNotHold) {
  EXPECT_FALSE(wilcoxon_exact(std::vector<double>{1, -1, 2}).has_value());
  EXPECT_FALSE(wilcoxon_exact(std::vector<double>{0, 1, 2}).has_value());
  EXPECT_FALSE(wilcoxon_exact(std::vector<double>{}).has_value());
}

TEST(Wilcoxon, HasNoAnswerWithoutANonzeroDifference) {
  const std::vector<double> zeros(5, 0.0);
  EXPECT_FALSE(wilcoxon(zeros, Zeros::kWilcoxon, false).has_value());
  EXPECT_FALSE(wilcoxon(zeros, Zeros::kPratt, false).has_value());
}

TEST(RankTests, OfClustersTakeTheirMeanDifferences) {
  std::vector<PairedValue> pairs;
  for (int i = 0; i < 12; ++i) {
    const double d = i % 4 == 0 ? -0.01 * (i + 1) : 0.02 * (i + 1);
    pairs.push_back({0.0, d + 0.5, i, 42});
    pairs.push_back({0.5, d, i, 43});  // mean difference d, each alone far from it
  }
  const auto clustered = compare_paired(pairs, Better::kUp);
  std::vector<PairedValue> means;
  for (int i = 0; i < 12; ++i) {
    means.push_back({0.0, (*pairs[2 * static_cast<std::size_t>(i)].method - 0.5), i});
  }
  const auto plain = compare_paired(means, Better::kUp);
  EXPECT_EQ(clustered.tests.sign_p, plain.tests.sign_p);
  EXPECT_NEAR(clustered.tests.wilcoxon->p_value, plain.tests.wilcoxon->p_value, 1e-12);
}

TEST(RankTests, AreExactForFewDifferencesWithoutTies) {
  std::vector<double> d;
  for (int i = 1; i <= 50; ++i) d.push_back(i % 3 == 0 ? -i : i);
  EXPECT_TRUE(wilcoxon_signed_rank(d)->exact);
  d.push_back(51);
  EXPECT_FALSE(wilcoxon_signed_rank(d)->exact);
  EXPECT_FALSE(wilcoxon_signed_rank(std::vector<double>{1, 1, -2})->exact);
}

TEST(WinRate, HasWilsonsInterval) {
  const auto interval = wilson_interval(0.3, 100, 0.95);  // scipy: binomtest(30, 100).proportion_ci("wilson")
  EXPECT_NEAR(interval.low, 0.21894885294932764, 1e-14);
  EXPECT_NEAR(interval.high, 0.39584854633346667, 1e-14);
  const auto none = wilson_interval(0, 10, 0.95);
  EXPECT_EQ(none.low, 0);
  EXPECT_NEAR(none.high, 0.27753279986288926, 1e-14);
}

TEST(WinRate, CountsTiesHalf) {
  const auto rate = win_rate(5, 5, 10, 20, 0.95);
  EXPECT_EQ(rate->rate, 0.375);
  EXPECT_NEAR(rate->ci.low, 0.1997708556646315, 1e-14);
  EXPECT_NEAR(rate->ci.high, 0.5905104338485734, 1e-14);
  EXPECT_FALSE(win_rate(0, 0, 0, 0, 0.95).has_value());
}

TEST(WinRate, OfSeveralSeedsTakesThePromptsAsTrials) {
  const auto one = win_rate(6, 2, 2, 10, 0.95), three = win_rate(18, 6, 6, 10, 0.95);
  EXPECT_EQ(three->rate, one->rate);
  EXPECT_EQ(three->ci.low, one->ci.low);
}

using Numbers = std::vector<double>;

TEST(InfluentialClusters, AreTheFewestThatCarryMoreThanHalf) {
  EXPECT_EQ(influential_clusters(Numbers{1, 0, 0, 0}), 1);
  EXPECT_EQ(influential_clusters(Numbers{1, 1, 1, 1}), 3) << "two of four leave half, not less than half";
  EXPECT_EQ(influential_clusters(Numbers{5, 3, 1, 1}), 2);
  EXPECT_EQ(influential_clusters(Numbers{6, 3, 1, 1}), 1);
  // Neither on the side nor on the order.
  EXPECT_EQ(influential_clusters(Numbers{-1, -6, 1, -3}), 1);
  EXPECT_EQ(influential_clusters(Numbers{1, 6, -1, 3}), 1);
}

TEST(InfluentialClusters, ThreeFlipsAmongManySmallDifferences) {
  Numbers sums(762, 0.003);  // 2.277 of the sum, three flips 3
  sums[10] = sums[300] = sums[700] = 1;
  EXPECT_EQ(influential_clusters(sums), 3);
}

TEST(InfluentialClusters, OfNoMeanDifferenceAreNone) {
  EXPECT_FALSE(influential_clusters(Numbers{}).has_value());
  EXPECT_FALSE(influential_clusters(Numbers{0, 0}).has_value());
  EXPECT_FALSE(influential_clusters(Numbers{0.1, 0.2, -0.3}).has_value());
}

PairedTests tests_with(double t, double wilcoxon, double sign) {
  return {.t = TTest{2, t}, .wilcoxon = RankTest{.w = 1, .p_value = wilcoxon}, .sign_p = sign};
}

TEST(Disagreement, IsAnotherConclusionThanTheTs) {
  EXPECT_FALSE(disagreement(tests_with(.01, .04, .049)).any());
  EXPECT_FALSE(disagreement(tests_with(.2, .06, .05)).any());
  EXPECT_TRUE(disagreement(tests_with(.04, .06, .01)).wilcoxon);
  EXPECT_FALSE(disagreement(tests_with(.04, .06, .01)).sign);
  EXPECT_TRUE(disagreement(tests_with(.06, .06, .01)).sign);
  EXPECT_TRUE(disagreement(tests_with(.02, .008, .009), 0.01).wilcoxon);
}

TEST(Disagreement, NeedsATAndCountsNoTestThatIsNotThere) {
  auto tests = tests_with(.2, .01, .01);
  tests.t.reset();
  EXPECT_FALSE(disagreement(tests).any());
  tests = tests_with(.01, .2, .2);
  tests.wilcoxon.reset();
  tests.sign_p.reset();
  EXPECT_FALSE(disagreement(tests).any());
}

TEST(Power, OfTheDetectableEffectIs80Percent) {
  // scipy.optimize.brentq on scipy.stats.nct
  EXPECT_NEAR(*detectable_effect(0.01, 762), 0.028051234843744385, 1e-13);
  EXPECT_NEAR(*detectable_effect(0.01, 3), 0.05653489266197127, 1e-13);
  EXPECT_NEAR(power_of(0.02, 0.01, 762), 0.5149993816697269, 1e-12);
}

TEST(Power, NeedsMoreUnitsForASmallerEffect) {
  EXPECT_EQ(units_needed(0.01, 0.01, 762), 5983);  // the smallest n with scipy.stats.nct's power >= 0.8
  EXPECT_EQ(units_needed(-0.01, 0.01, 762), 5983);
  const auto n = *units_needed(0.002, 0.01, 762);
  const auto error = [](std::int64_t units) { return 0.01 * std::sqrt(762.0 / static_cast<double>(units)); };
  EXPECT_GE(power_of(0.002, error(n), n), 0.8);
  EXPECT_LT(power_of(0.002, error(n - 1), n - 1), 0.8);
}

TEST(Power, OfAnEffectFarAboveTheSpreadIsCertain) {
  for (const double error : {1e-3, 1e-6, 1e-9, 1e-300}) {
    for (const std::int64_t units : {2, 3, 762}) {
      EXPECT_EQ(units_needed(1, error, units), 2) << error << " " << units;
      EXPECT_NEAR(power_of(1, error, units), 1, 1e-12);
    }
  }
}

TEST(Power, SaysNothingWithoutAnEffectOrASpread) {
  EXPECT_FALSE(units_needed(0, 0.01, 762).has_value());
  EXPECT_FALSE(units_needed(0.1, 0, 762).has_value());
  EXPECT_FALSE(detectable_effect(0, 762).has_value());
  EXPECT_FALSE(detectable_effect(0.01, 1).has_value());
  EXPECT_FALSE(units_needed(1e-9, 1, 762).has_value()) << "more than anyone has";
}

// Verdicts

// sqrt(f / chi2.ppf(0.975, f)), sqrt(f / chi2.ppf(0.025, f)).
TEST(SpreadUncertainty, IsThatOfANormalSamplesStandardDeviation) {
  EXPECT_NEAR(spread_uncertainty(3).low, 0.52066, 1e-5);
  EXPECT_NEAR(spread_uncertainty(3).high, 6.28473, 1e-5);
  EXPECT_NEAR(spread_uncertainty(5).low, 0.59913, 1e-5);
  EXPECT_NEAR(spread_uncertainty(5).high, 2.87355, 1e-5);
}

PairedComparison comparison(double delta, double low, double high) {
  PairedComparison c;
  c.n = c.clusters = 762;
  c.seeds = 1;
  c.ties = 600;
  c.delta = delta;
  c.ci = Interval{low, high};
  return c;
}

/// The same over this many training runs.
PairedComparison over_runs(PairedComparison c, std::int64_t runs, Interval ci, double p_value) {
  c.seeds = runs;
  c.crossed = CrossedComparison{
      .runs = runs, .clusters = 762, .delta = *c.delta, .per_run = {}, .p_value = p_value, .ci = ci};
  return c;
}

PairedComparison on_prompts(PairedComparison c, std::int64_t prompts) {
  c.crossed->clusters = prompts;
  return c;
}

/// Of a training, whose clusters are its runs.
PairedComparison of_runs_alone(PairedComparison c, std::int64_t runs) {
  c.crossed.emplace();
  c.crossed->runs = runs;
  c.crossed->of_runs_alone = true;
  return c;
}

/// At a scale that shows nothing about the methods.
PairedComparison unjudged(PairedComparison c) {
  c.judges_methods = false;
  return c;
}

PairedComparison with_ties(PairedComparison c, std::int64_t ties) {
  c.ties = ties;
  return c;
}

PairedComparison of_one_pair() {
  PairedComparison c;
  c.n = c.clusters = 1;
  c.delta = 0.5;
  return c;
}

TEST(Judgement, SaysWhatMayBeConcluded) {
  const auto c = comparison(0.02, 0.01, 0.03);
  auto of_p = c;
  of_p.p_value = 0.02;
  const auto three = over_runs(c, 3, {0.01, 0.03}, 0.001);
  const auto fallen = over_runs(comparison(-0.02, -0.03, -0.01), 3, {-0.03, -0.01}, 0.001);
  const JudgeSettings sure{.adjusted = AdjustedP{.p = 0.001, .share = 1}};
  const std::string not_shown = "no difference shown between these checkpoints";
  struct Row {
    PairedComparison comparison;
    Better better;
    JudgeSettings settings;
    std::string text;
  };
  const std::vector<Row> rows = {
      {c, Better::kUp, sure, "these checkpoints differ"},
      {comparison(0.02, -0.01, 0.03), Better::kUp, sure, not_shown},
      {c, Better::kUp, {}, "exploratory"},
      {over_runs(c, 2, {0.01, 0.03}, 0.001), Better::kUp, sure, "these checkpoints differ"},
      {three, Better::kUp, sure, "better"},
      {of_runs_alone(c, 2),
       Better::kUp,
       {.adjusted = AdjustedP{.p = 0.001}, .unit = "seeds"},
       "not judged: 2 of 3 training runs"},
      {unjudged(three), Better::kUp, sure, "these checkpoints differ"},
      {unjudged(of_runs_alone(c, 3)), Better::kUp, sure, "not judged at this scale"},
      {three, Better::kDown, sure, "worse"},
      {on_prompts(three, 16), Better::kUp, sure, "better"},
      {on_prompts(three, 15), Better::kUp, sure, "not resolved: fewer than 16 prompts"},
      {three, Better::kNone, sure, "higher"},
      {fallen, Better::kDown, sure, "better"},
      {fallen, Better::kNone, sure, "lower"},
      {three, Better::kUp, {}, "exploratory"},
      {over_runs(c, 3, {-0.01, 0.05}, 0.12), Better::kUp, sure, "not resolved"},
      {over_runs(comparison(0.02, -0.001, 0.04), 3, {0.01, 0.03}, 0.001), Better::kUp, sure,
       "not resolved: not over prompts alone"},
      {over_runs(comparison(-0.02, -0.03, -0.01), 3, {0.01, 0.03}, 0.001), Better::kUp, sure,
       "not resolved: values are missing, and the mean difference lies on the other side of 0"},
      {over_runs(comparison(0.02, -0.03, -0.01), 3, {0.01, 0.03}, 0.001), Better::kUp, sure,
       "not resolved: not over prompts alone"},
      {over_runs(comparison(0.02, 0.001, 0.03), 3, {0.001, 0.03}, 0.02),
       Better::kUp,
       {.adjusted = AdjustedP{.p = 0.1, .share = 0.2}},
       "not resolved (adjusted p 0.1)"},
      {over_runs(comparison(0.02, 0.001, 0.03), 3, {0.001, 0.03}, 0.02),
       Better::kUp,
       {.adjusted = AdjustedP{.p = 0.1}},
       "not resolved: not tested, as the primary metric is not resolved"},
      {of_p, Better::kUp, {.adjusted = AdjustedP{.p = 0.1, .share = 0.2}}, not_shown + " (adjusted p 0.1)"},
      {over_runs(comparison(0.02, 0.001, 0.03), 3, {0.001, 0.03}, 0.06),
       Better::kUp,
       {.adjusted = AdjustedP{.p = 0.06, .share = 1}},
       "not resolved (p 0.06)"},
      {{}, Better::kUp, {}, "no complete pair"},
      {with_ties(comparison(0, 0, 0), 762), Better::kUp, sure, not_shown + ": equal on every pair"},
      {comparison(1, 1, 1),
       Better::kUp,
       {.adjusted = AdjustedP()},
       not_shown + ": the same difference on every pair, which gives no p"},
      {of_one_pair(), Better::kUp, {.unit = "seeds"}, "not judged: 1 of 3 training runs"}};
  const std::set<std::string> of_methods = {"better", "worse", "higher", "lower"};
  for (const auto& row : rows) {
    const auto judgement = judge(row.comparison, row.better, row.settings);
    EXPECT_EQ(judgement.text, row.text);
    EXPECT_EQ(judgement.resolved(), of_methods.contains(row.text)) << row.text;
    EXPECT_EQ(judgement.differs, judgement.resolved() || row.text == "these checkpoints differ") << row.text;
  }
}

TEST(Judgement, OfThreeRunsIsByTheirIntervalAndNotByThatOfThePrompts) {
  const auto c = over_runs(comparison(0.02, 0.01, 0.03), 3, {-0.01, 0.05}, 0.12);
  EXPECT_EQ(interval_of(c)->low, -0.01);
  EXPECT_EQ(p_value_of(c), 0.12);
  EXPECT_EQ(interval_of(c, Claim::kCheckpoints)->low, 0.01);
}

TEST(Judgement, OfAQuestionOfNoFamilyIsAnEstimateWithAnUnadjustedInterval) {
  const auto three = over_runs(comparison(0.02, 0.01, 0.03), 3, {0.01, 0.03}, 0.001);
  for (const auto& c : {comparison(0.02, 0.01, 0.03), three}) {
    const auto judgement = judge(c, Better::kUp, {});
    EXPECT_TRUE(judgement.is_exploratory);
    EXPECT_FALSE(judgement.differs || judgement.resolved()) << "though its interval excludes 0";
    EXPECT_EQ(judgement.adjusted.p, std::nullopt);
    EXPECT_EQ(judgement.word, "exploratory");
    EXPECT_NEAR(judgement.level, 0.05, 1e-15);
    EXPECT_EQ(judgement.p, p_value_of(c));
  }
  EXPECT_FALSE(judge(three, Better::kUp, {.adjusted = AdjustedP{.p = 0.001, .share = 1}}).is_exploratory);
}

/// Three runs on 40 prompts, in which all spread is that between prompts: an interval of Student's t with 39
/// degrees of freedom.
PairedComparison with_prompts_spread(double delta, double standard_error) {
  PairedComparison c;
  c.n = 120;
  c.clusters = 40;
  c.seeds = 3;
  c.delta = delta;
  c.ci = Interval{delta - 2 * standard_error, delta + 2 * standard_error};
  c.crossed = CrossedComparison{.runs = 3,
                                .clusters = 40,
                                .delta = delta,
                                .per_run = {},
                                .parts = {.runs = 0, .prompts = standard_error * standard_error},
                                .parts_freedom = {2, 39},
                                .standard_error = standard_error};
  c.crossed->ci = crossed_interval(*c.crossed, 0.95);
  c.crossed->p_value = crossed_p_value(delta / standard_error, c.crossed->parts, c.crossed->parts_freedom);
  return c;
}

TEST(Judgement, OfMethodsThatDifferHasTheIntervalAtTheLevelThatTestedItAndAnyOtherThatOf95Percent) {
  auto c = with_prompts_spread(0.1, 0.02);
  const JudgeSettings settings{.adjusted = AdjustedP{.p = 0.001, .over = 4, .share = 0.225}};
  const auto judgement = judge(c, Better::kUp, settings);
  EXPECT_NEAR(judgement.level, 0.01125, 1e-15);
  // 0.1 +- 0.02 scipy.stats.t.isf(0.01125 / 2, 39)
  EXPECT_NEAR(judgement.interval->low, 0.04677795595788113, 1e-12);
  EXPECT_NEAR(judgement.interval->high, 0.15322204404211887, 1e-12);
  for (const double share : {0.0, 0.225}) {
    const auto open = judge(c, Better::kUp, {.adjusted = AdjustedP{.p = 0.3, .over = 4, .share = share}});
    EXPECT_FALSE(open.differs);
    EXPECT_NEAR(open.level, 0.05, 1e-15);
    EXPECT_EQ(open.interval->low, c.crossed->ci->low);
  }
  c.judges_methods = false;
  const auto of_checkpoints = judge(c, Better::kUp, settings);
  EXPECT_NEAR(of_checkpoints.level, 0.05, 1e-15);
  EXPECT_EQ(of_checkpoints.interval->low, c.ci->low);
}

TEST(Outcomes, ByClusterDoNotDependOnWhichSampleOrRunStandsBesideWhich) {
  // Two prompts, three samples each; the method's are given in two orders.
  const std::vector<double> theirs = {0.1, 0.2, 0.3, 0.5, 0.5, 0.5}, ours = {0.3, 0.1, 0.2, 0.5, 0.7, 0.6},
                            turned = {0.1, 0.2, 0.3, 0.7, 0.6, 0.5};
  for (const auto& method : {ours, turned}) {
    PairedMetric metric;
    for (std::size_t i = 0; i < theirs.size(); ++i)
      metric.pairs.push_back({.baseline = theirs[i], .method = method[i], .cluster = i < 3 ? 0 : 1});
    auto result = compare_paired(metric.pairs, Better::kUp, {.resamples = 0});
    count_by_cluster(metric, 0.95, result);
    EXPECT_EQ(std::tuple(result.wins, result.ties, result.losses), std::tuple(1, 1, 0));
    EXPECT_EQ(result.win_rate->rate, 0.75);
  }
}

TEST(Outcomes, NearlyAllAtOneEndAreNamedAndNoOthers) {
  const auto pairs_of = [](const std::vector<std::pair<double, double>>& values) {
    std::vector<PairedValue> pairs;
    for (const auto& [a, b] : values)
      pairs.push_back({.baseline = a, .method = b, .cluster = std::ssize(pairs)});
    pairs.push_back({.baseline = std::nullopt, .method = 0.0, .cluster = std::ssize(pairs)});
    return pairs;
  };
  const auto floor = ties_at_an_end(pairs_of({{0, 0}, {0, 0}, {0, 0}, {0, 0}, {0, 0.5}}));
  ASSERT_TRUE(floor);
  EXPECT_EQ(std::tuple(floor->value, floor->ties, floor->pairs, floor->lowest, floor->highest),
            std::tuple(0.0, 4, 5, true, false));
  const auto ceiling = ties_at_an_end(pairs_of({{1, 1}, {1, 1}, {1, 1}, {1, 1}, {1, 0.5}}));
  ASSERT_TRUE(ceiling);
  EXPECT_TRUE(ceiling->highest && !ceiling->lowest);
  EXPECT_TRUE(ties_at_an_end(pairs_of({{2, 2}, {2, 2}}))->lowest);
  EXPECT_FALSE(ties_at_an_end(pairs_of({{0, 0}, {0, 0}, {0, 0}, {0, 0.5}})));
  EXPECT_FALSE(ties_at_an_end(pairs_of({{0.5, 0.5}, {0.5, 0.5}, {0.5, 0.5}, {0.5, 0.5}, {0, 1}})))
      << "in the middle";
  EXPECT_FALSE(ties_at_an_end(pairs_of({{0, 0}}))) << "one pair";
}

}  // namespace
}  // namespace harness
