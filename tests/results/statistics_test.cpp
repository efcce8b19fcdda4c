#include "results/statistics/statistics.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "results/statistics/bootstrap_indices.h"
#include "results/statistics/statistics_parity.h"
#include "tests/error_of.h"

namespace harness {
namespace {

// The data behind the goldens; numpy 2.4 and scipy 1.17.1 on i = numpy.arange(40):
//   a = ((7*i + 3) % 11) / 10; b = ((5*i*i + 2*i + 1) % 13) / 12
constexpr int kCount = 40;
double arm_a(int i) {
  return ((7 * i + 3) % 11) / 10.0;
}
double arm_b(int i) {
  return ((5 * i * i + 2 * i + 1) % 13) / 12.0;
}

std::vector<PairedValue> golden_pairs() {
  std::vector<PairedValue> pairs;
  for (int i = 0; i < kCount; ++i) pairs.push_back({arm_a(i), arm_b(i), i});
  return pairs;
}

/// The first and the last twenty are the same prompts.
std::vector<PairedValue> pairs_of_two_seeds() {
  auto pairs = golden_pairs();
  for (auto& pair : pairs) {
    pair.seed = pair.cluster / 20;
    pair.cluster %= 20;
  }
  return pairs;
}

BootstrapSettings golden(IntervalKind kind = IntervalKind::kPercentile) {
  return {.resamples = 2000, .seed = 7, .interval = kind};
}

constexpr IntervalKind kKinds[] = {IntervalKind::kPercentile, IntervalKind::kBca, IntervalKind::kStudentised};

std::optional<Interval> ci_of(std::span<const PairedValue> pairs, IntervalKind kind) {
  return compare_paired(pairs, Better::kUp, golden(kind)).ci;
}

void expect_near(const std::optional<Interval>& interval, double low, double high) {
  ASSERT_TRUE(interval.has_value());
  EXPECT_NEAR(interval->low, low, 1e-12);
  EXPECT_NEAR(interval->high, high, 1e-12);
}

TEST(Summarize, AgreesWithNumpy) {
  std::vector<std::optional<double>> values;
  for (int i = 0; i < kCount; ++i) values.emplace_back(arm_a(i));
  const auto summary = summarize(values);
  EXPECT_NEAR(*summary.mean, 0.5025, 1e-15);
  EXPECT_NEAR(*summary.std, 0.32064638242790544, 1e-15);  // a.std(ddof=1)
}

TEST(Summarize, HasNoMeanOfNothingAndNoSpreadOfOne) {
  EXPECT_FALSE(summarize(std::vector<std::optional<double>>{std::nullopt}).mean.has_value());
  EXPECT_FALSE(summarize(std::vector<std::optional<double>>{2.0}).std.has_value());
}

TEST(Summarize, LeavesOutAndCountsMissingValuesAndNumbersThatNoSquareFits) {
  constexpr double kHuge = 1.7976931348623157e308;
  const std::vector<std::optional<double>> values{1.0, std::nullopt, kHuge, -kHuge, 3.0, NAN};
  const auto summary = summarize(values);
  EXPECT_EQ(summary.n, 2);
  EXPECT_EQ(summary.n_missing, 4);
  EXPECT_EQ(summary.n_beyond, 3);
  EXPECT_EQ(summary.mean, 2.0);
  EXPECT_DOUBLE_EQ(*summary.std, std::sqrt(2.0));
}

TEST(PairedComparison, IsComputedUpToTheLargestScoreAndBeyondItAPairIsMissing) {
  for (const auto kind : kKinds) {
    for (const double largest : {1e99, 1e100, 1e101, 1e154, 1.7976931348623157e308}) {
      std::vector<PairedValue> pairs;
      for (int i = 0; i < 1000; ++i)
        pairs.push_back({arm_a(i), i % 3 == 0 ? (i % 2 == 0 ? largest : -largest) : arm_b(i), i});
      const auto result = compare_paired(pairs, Better::kUp, {.resamples = 200, .interval = kind});
      EXPECT_EQ(result.n_missing, largest > 1e100 ? 334 : 0) << largest;
      EXPECT_EQ(result.n + result.n_missing, 1000);
      EXPECT_TRUE(std::isfinite(*result.delta) && std::isfinite(*result.standard_error)) << largest;
      ASSERT_TRUE(result.p_value && result.ci) << largest;
      EXPECT_TRUE(std::isfinite(result.ci->low) && std::isfinite(result.ci->high)) << largest;
      EXPECT_TRUE(*result.p_value >= 0 && *result.p_value <= 1) << largest;
    }
  }
}

TEST(Percentile, InterpolatesLinearlyBetweenOrderStatistics) {
  const std::vector<double> values{1, 2, 4, 8};
  EXPECT_DOUBLE_EQ(percentile(values, 0), 1);
  EXPECT_DOUBLE_EQ(percentile(values, 0.5), 3);
  EXPECT_DOUBLE_EQ(percentile(values, 0.9), 6.8);  // numpy.percentile([1, 2, 4, 8], 90)
  EXPECT_DOUBLE_EQ(percentile(values, 1), 8);
  EXPECT_DOUBLE_EQ(percentile(std::vector<double>{5}, 0.3), 5);
}

TEST(ComparePaired, AgreesWithNumpyAndScipy) {
  const auto result = compare_paired(golden_pairs(), Better::kUp, golden());
  EXPECT_EQ(result.n, 40);
  EXPECT_NEAR(*result.baseline_mean, 0.5025, 1e-15);
  EXPECT_NEAR(*result.method_mean, 0.4895833333333333, 1e-15);
  EXPECT_NEAR(*result.delta, -0.012916666666666682, 1e-14);
  EXPECT_NEAR(*result.t, -0.16660277873374957, 1e-12);  // scipy.stats.ttest_rel(b, a)
  EXPECT_NEAR(*result.p_value, 0.8685433937091698, 1e-12);
  EXPECT_EQ(result.test, "paired-t");
}

TEST(PairedBootstrap, PairingNarrowsTheInterval) {
  // Scores that differ much between prompts and little between methods.
  std::vector<PairedValue> pairs;
  for (int i = 0; i < 400; ++i) {
    const double prompt = std::sin(12.9898 * i);  // the difficulty of a prompt, shared by both arms
    pairs.push_back({prompt, prompt + 0.02 + 0.05 * std::sin(78.233 * i), i});
  }
  const auto paired = *compare_paired(pairs, Better::kUp).ci;

  // Without pairing: an index vector of its own for each arm.
  std::vector<double> deltas;
  std::vector<std::uint32_t> of_a(pairs.size()), of_b(pairs.size());
  const auto size = static_cast<std::uint32_t>(pairs.size());
  for (std::uint32_t resample = 0; resample < 10000; ++resample) {
    resample_indices(1, resample, size, of_a);
    resample_indices(2, resample, size, of_b);
    double sum = 0;
    for (std::size_t i = 0; i < pairs.size(); ++i) sum += *pairs[of_b[i]].method - *pairs[of_a[i]].baseline;
    deltas.push_back(sum / static_cast<double>(pairs.size()));
  }
  const auto unpaired = percentile_interval(deltas, 0.95);
  EXPECT_LT((paired.high - paired.low) * 10, unpaired.high - unpaired.low);
  EXPECT_TRUE(paired.excludes_zero());
  EXPECT_FALSE(unpaired.excludes_zero());
}

TEST(PairedBootstrap, OnlyMembershipMattersNotTheNumbersOfClusters) {
  auto pairs = golden_pairs();
  const auto expected = compare_paired(pairs, Better::kUp, golden());
  for (auto& pair : pairs) pair.cluster = 1000000 - 17 * pair.cluster;
  const auto renamed = compare_paired(pairs, Better::kUp, golden());
  EXPECT_EQ(renamed.ci->low, expected.ci->low);
  EXPECT_EQ(renamed.ci->high, expected.ci->high);
}

TEST(PairedBootstrap, DrawsWholeClusters) {
  auto pairs = golden_pairs();
  for (auto& pair : pairs)
    pair.cluster = pair.cluster < 30 ? pair.cluster / 3 : pair.cluster;  // ten of three, ten of one
  const auto result = compare_paired(pairs, Better::kUp, golden());
  EXPECT_EQ(result.clusters, 20);
  EXPECT_EQ(result.test, "paired-t-clustered");
  // S, C: sum and size of each cluster; numpy.percentile of S[index].sum() / C[index].sum()
  expect_near(result.ci, -0.09999999999999998, 0.0773263888888888);
  expect_near(ci_of(pairs, IntervalKind::kBca), -0.1119567157459155, 0.06568406301556959);
  expect_near(ci_of(pairs, IntervalKind::kStudentised), -0.1166889071421368, 0.07606256086827494);
  // se = sqrt(G / (G - 1) * ((S - C * delta)**2).sum()) / n; scipy.stats.t.sf with G - 1
  EXPECT_NEAR(*result.t, -0.2813155605395485, 1e-12);
  EXPECT_NEAR(*result.p_value, 0.7815092144005099, 1e-12);
}

TEST(PairedBootstrap, RepeatingEveryPairInItsClusterChangesNothing) {
  const auto once = golden_pairs();
  auto twice = once;
  twice.insert(twice.end(), once.begin(), once.end());
  const auto expected = compare_paired(once, Better::kUp, golden());
  const auto repeated = compare_paired(twice, Better::kUp, golden());
  EXPECT_EQ(repeated.n, 80);
  EXPECT_NEAR(repeated.ci->low, expected.ci->low, 1e-14);
  EXPECT_NEAR(repeated.ci->high, expected.ci->high, 1e-14);
  EXPECT_NEAR(*repeated.p_value, *expected.p_value, 1e-12);
}

TEST(ComparePaired, AWinIsTheBetterDirection) {
  const auto up = compare_paired(golden_pairs(), Better::kUp, golden());
  EXPECT_EQ(up.wins, 19);
  EXPECT_EQ(up.ties, 3);
  EXPECT_EQ(up.losses, 18);
  const auto down = compare_paired(golden_pairs(), Better::kDown, golden());
  EXPECT_EQ(down.wins, 18);
  EXPECT_EQ(down.losses, 19);
  EXPECT_EQ(down.delta, up.delta) << "delta is method - baseline in either case";
}

TEST(ComparePaired, APromptIsWonByTheMeanOfItsPairs) {
  // The first prompt is won by its mean though it loses two pairs of three, the second ties, the third loses.
  const std::vector<PairedValue> pairs{{0.1, 0.9, 0}, {0.3, 0.2, 0}, {0.3, 0.2, 0},         {0.1, 0.2, 1},
                                       {0.2, 0.1, 1}, {0.5, 0.4, 2}, {0.5, std::nullopt, 3}};
  EXPECT_DOUBLE_EQ(*compare_paired(pairs, Better::kUp).prompts_won, 1.0 / 3);
  EXPECT_DOUBLE_EQ(*compare_paired(pairs, Better::kDown).prompts_won, 1.0 / 3);
  EXPECT_FALSE(compare_paired(std::span(pairs).last(1), Better::kUp).prompts_won);
}

TEST(ComparePaired, PairsThatLackASideAreCountedAndEnterNothingElse) {
  auto pairs = golden_pairs();
  pairs.push_back({std::nullopt, 0.5, 100});
  pairs.push_back({0.5, std::nullopt, 101});
  const auto result = compare_paired(pairs, Better::kUp, golden());
  EXPECT_EQ(result.n, 40);
  EXPECT_EQ(result.n_missing, 2);
  EXPECT_EQ(result.ci->low, compare_paired(golden_pairs(), Better::kUp, golden()).ci->low);
}

TEST(ComparePaired, WithoutACompletePairThereIsNoDifference) {
  const std::vector<PairedValue> pairs{{std::nullopt, 1.0, 0}};
  const auto result = compare_paired(pairs, Better::kUp);
  EXPECT_EQ(result.n, 0);
  EXPECT_EQ(result.n_missing, 1);
  EXPECT_FALSE(result.delta.has_value());
  EXPECT_FALSE(result.ci.has_value());
}

TEST(StatisticsParity, TheRecordedCasePasses) {
  const auto check = check_statistics_case(HARNESS_SOURCE_DIR "/tests/data/parity/statistics");
  EXPECT_TRUE(check.passed()) << check.message;
  EXPECT_LT(check.max_rel, 1e-8);
}

// Intervals by their kind; goldens by tests/results/statistics_peer.py (numpy 2.4.6, scipy 1.17.1).

TEST(BootstrapIntervals, AgreeWithScipyOnTheSameIndices) {
  const auto pairs = golden_pairs();
  // index(j) of resample r by the rule of bootstrap_indices.h; numpy.percentile of the 2000 mean differences
  expect_near(ci_of(pairs, IntervalKind::kPercentile), -0.16005208333333323, 0.1425104166666666);
  // scipy.stats.bootstrap(method="BCa", n_resamples=0, bootstrap_result=ours)
  expect_near(ci_of(pairs, IntervalKind::kBca), -0.15762289886983286, 0.14561819615877764);
  expect_near(ci_of(pairs, IntervalKind::kStudentised), -0.17837524677550304, 0.14478300932491686);
}

TEST(BootstrapIntervals, OverSeedsAndPromptsAgreeWithNumpyOnTheSameIndices) {
  const auto pairs = pairs_of_two_seeds();
  const auto result = compare_paired(pairs, Better::kUp, golden(IntervalKind::kPercentile));
  EXPECT_EQ(result.seeds, 2);
  expect_near(result.ci, -0.13584374999999999, 0.11624999999999999);
  expect_near(result.ci_seeds, -0.20666666666666664, 0.1625104166666666);
}

TEST(BootstrapIntervals, NamesAreTheOnesOfTheCommandLine) {
  for (const auto kind : kKinds) {
    EXPECT_EQ(interval_from_name(std::string(interval_name(kind)), "--interval"), kind);
  }
  EXPECT_STREQ(error_of([] { interval_from_name("percentil", "--interval"); }).what(),
               R"(--interval: unknown interval "percentil"; did you mean "percentile"?)");
}

/// A number in [0, 1) from the generator alone: the standard's distributions differ between libraries.
double uniform(std::mt19937_64& random) {
  return static_cast<double>(random() >> 11) * 0x1p-53;
}

/// Differences of two scores: half of the prompts tie, the others are skewed. True mean 0.05.
constexpr double kTrueMean = 0.05;
ClusterSums simulated(std::mt19937_64& random, int prompts) {
  ClusterSums sums;
  for (int i = 0; i < prompts; ++i) {
    sums.baseline.push_back(0);
    sums.method.push_back(uniform(random) < 0.5 ? 0 : -0.3 * std::log(1 - uniform(random)) - 0.2);
    sums.count.push_back(1);
  }
  return sums;
}

/// How often the 95 % interval holds the true mean.
double coverage(IntervalKind kind, int simulations) {
  std::mt19937_64 random(20260501);
  int covered = 0;
  for (int done = 0; done < simulations; done += 50) {
    std::vector<BootstrapInput> batch;
    for (int i = 0; i < 50; ++i) batch.push_back({.pooled = simulated(random, 762)});
    const BootstrapSettings settings{
        .resamples = 1000, .seed = static_cast<std::uint32_t>(done), .interval = kind};
    for (const auto& interval : bootstrap_intervals(batch, settings)) {
      covered += interval.clusters->low <= kTrueMean && kTrueMean <= interval.clusters->high ? 1 : 0;
    }
  }
  return static_cast<double>(covered) / simulations;
}

TEST(Coverage, Of762PromptsIs94To96Percent) {
  for (const auto kind : kKinds) EXPECT_NEAR(coverage(kind, 2000), 0.95, 0.01 + 1e-9) << interval_name(kind);
}

/// Three training runs of one method on the same prompts, run s better by `gap` * s.
std::vector<PairedValue> seeds_apart(double gap) {
  std::vector<PairedValue> pairs;
  for (int seed = 0; seed < 3; ++seed) {
    for (int i = 0; i < 200; ++i)
      pairs.push_back({0.0, 0.1 * std::sin(12.9898 * i) + gap * seed, i, 42 + seed});
  }
  return pairs;
}

double width(const Interval& interval) {
  return interval.high - interval.low;
}

TEST(TwoLevelBootstrap, IsWiderWhereSeedsDiffer) {
  const auto result = compare_paired(seeds_apart(0.02), Better::kUp);
  EXPECT_EQ(result.clusters, 200);
  EXPECT_GT(width(*result.ci_seeds), 1.5 * width(*result.ci));
}

TEST(TwoLevelBootstrap, IsTheIntervalOverPromptsWhereSeedsAgree) {
  const auto result = compare_paired(seeds_apart(0), Better::kUp);
  expect_near(result.ci_seeds, result.ci->low, result.ci->high);
}

TEST(TwoLevelBootstrap, NeedsTwoSeeds) {
  EXPECT_FALSE(compare_paired(golden_pairs(), Better::kUp).ci_seeds.has_value());
}

/// Five metrics: pairs of their own, one shorter by a missing value, one of two seeds.
std::vector<PairedMetric> several_metrics() {
  std::vector<PairedMetric> metrics;
  for (int k = 0; k < 5; ++k) {
    auto pairs = golden_pairs();
    for (auto& pair : pairs) *pair.method += 0.1 * k * std::sin(static_cast<double>(k + pair.cluster));
    metrics.push_back({std::move(pairs), Better::kUp});
  }
  metrics[3].pairs[7].method.reset();
  metrics[4].pairs = pairs_of_two_seeds();
  return metrics;
}

TEST(BootstrapOfSeveralMetrics, GivesEachOneToTheBitWhatItWouldGetAloneWhateverTheNumberOfThreads) {
  const auto metrics = several_metrics();
  const auto expect_equal = [](const Interval& together, const Interval& alone) {
    EXPECT_EQ(together.low, alone.low);
    EXPECT_EQ(together.high, alone.high);
  };
  for (const auto kind : kKinds) {
    for (const unsigned threads : {1u, 2u, 3u, 7u}) {
      auto settings = golden(kind);
      settings.threads = threads;
      const auto together = compare_paired(metrics, settings);
      for (std::size_t i = 0; i < metrics.size(); ++i) {
        SCOPED_TRACE(fmt::format("{}, metric {}, {} threads", interval_name(kind), i, threads));
        const auto alone = compare_paired(metrics[i].pairs, metrics[i].better, golden(kind));
        expect_equal(*together[i].ci, *alone.ci);
        if (i == 4) expect_equal(*together[i].ci_seeds, *alone.ci_seeds);
      }
    }
  }
}

TEST(BootstrapIntervals, OfAConstantDifferenceHaveNoWidthWhateverTheKind) {
  for (const double shift : {0.0, 0.25}) {
    std::vector<PairedValue> pairs;
    for (int i = 0; i < 50; ++i) pairs.push_back({i * 0.5, i * 0.5 + shift, i});
    for (const auto kind : kKinds) {
      const auto result = compare_paired(pairs, Better::kUp, golden(kind));
      EXPECT_EQ(*result.delta, shift);
      EXPECT_EQ(result.ties, shift == 0 ? 50 : 0);
      expect_near(result.ci, shift, shift);
      EXPECT_EQ(result.ci->excludes_zero(), shift != 0);
      EXPECT_FALSE(result.t || result.p_value);
    }
  }
}

TEST(StudentisedInterval, IsAbsentWhereTooManyResamplesHaveNoSpread) {
  std::vector<PairedValue> pairs;  // one prompt of ten differs: a third of the resamples miss it
  for (int i = 0; i < 10; ++i) pairs.push_back({0.0, i == 0 ? 1.0 : 0.0, i});
  EXPECT_TRUE(compare_paired(pairs, Better::kUp, golden(IntervalKind::kPercentile)).ci.has_value());
  EXPECT_FALSE(compare_paired(pairs, Better::kUp, golden(IntervalKind::kStudentised)).ci.has_value());
}

/// Every prompt four times, as in GenEval's public list; the copies of a prompt differ little.
std::vector<PairedValue> repeated_pairs(bool as_one_prompt) {
  std::vector<PairedValue> pairs;
  for (int i = 0; i < 4 * kCount; ++i) {
    const int prompt = i % kCount;
    const double noise = 0.01 * (i / kCount);
    pairs.push_back({arm_a(prompt), arm_b(prompt) + noise, as_one_prompt ? prompt : i});
  }
  return pairs;
}

double width(const std::optional<Interval>& interval) {
  return interval.value().high - interval.value().low;
}

// Four copies that say the same have the standard error of one: twice that of 160 prompts.
TEST(RepeatedPrompts, AreOneUnitOfEveryInterval) {
  const auto clustered = repeated_pairs(true), naive = repeated_pairs(false);
  for (const auto kind : kKinds) {
    const auto by_prompt = compare_paired(clustered, Better::kUp, golden(kind));
    const auto by_record = compare_paired(naive, Better::kUp, golden(kind));
    EXPECT_NEAR(*by_prompt.delta, *by_record.delta, 1e-12);
    EXPECT_EQ(by_prompt.clusters, kCount);
    EXPECT_EQ(by_record.clusters, 4 * kCount);
    EXPECT_NEAR(width(by_prompt.ci) / width(by_record.ci), 2, 0.15) << interval_name(kind);
    EXPECT_NEAR(*by_prompt.standard_error / *by_record.standard_error, 2, 0.05);
    EXPECT_GT(width(by_prompt.win_rate->ci), width(by_record.win_rate->ci));
    EXPECT_EQ(by_prompt.test, "paired-t-clustered");
  }
}

TEST(RepeatedPrompts, AreOneUnitOfTheIntervalOverRunsToo) {
  const auto over_runs_of = [](bool as_one_prompt) {
    std::vector<PairedValue> pairs;
    for (int seed = 0; seed < 3; ++seed) {
      for (auto pair : repeated_pairs(as_one_prompt)) {
        *pair.method += 0.02 * std::sin(seed + 3.0 * static_cast<double>(pair.cluster % kCount));
        pair.seed = seed;
        pairs.push_back(pair);
      }
    }
    return crossed(pairs).value();
  };
  EXPECT_EQ(over_runs_of(true).clusters, kCount);
  EXPECT_EQ(over_runs_of(false).clusters, 4 * kCount);
  EXPECT_GT(width(over_runs_of(true).ci), 1.5 * width(over_runs_of(false).ci));
}

}  // namespace
}  // namespace harness
