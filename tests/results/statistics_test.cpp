#include "results/statistics/statistics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "results/statistics/bootstrap_indices.h"
#include "results/statistics/statistics_parity.h"

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

const BootstrapSettings kGoldenSettings{.resamples = 2000, .seed = 7};

/// Scores that differ much between prompts and little between methods.
std::vector<PairedValue> correlated_pairs() {
  std::vector<PairedValue> pairs;
  for (int i = 0; i < 400; ++i) {
    const double prompt = std::sin(12.9898 * i);  // the difficulty of a prompt, shared by both arms
    pairs.push_back({prompt, prompt + 0.02 + 0.05 * std::sin(78.233 * i), i});
  }
  return pairs;
}

TEST(Summarize, AgreesWithNumpy) {
  std::vector<std::optional<double>> values;
  for (int i = 0; i < kCount; ++i) values.emplace_back(arm_a(i));
  const auto summary = summarize(values);
  EXPECT_NEAR(*summary.mean, 0.5025, 1e-15);
  EXPECT_NEAR(*summary.std, 0.32064638242790544, 1e-15);  // a.std(ddof=1)
}

TEST(Summarize, CountsMissingValuesAndLeavesThemOutOfTheMean) {
  const std::vector<std::optional<double>> values{1.0, std::nullopt, 3.0};
  const auto summary = summarize(values);
  EXPECT_EQ(summary.n, 2);
  EXPECT_EQ(summary.n_missing, 1);
  EXPECT_EQ(summary.mean, 2.0);
}

TEST(Summarize, HasNoMeanOfNothingAndNoSpreadOfOne) {
  EXPECT_FALSE(summarize(std::vector<std::optional<double>>{std::nullopt}).mean.has_value());
  EXPECT_FALSE(summarize(std::vector<std::optional<double>>{2.0}).std.has_value());
}

TEST(Summarize, LeavesOutNumbersThatNoSquareFitsAndCountsThem) {
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
  for (const auto kind : {IntervalKind::kPercentile, IntervalKind::kBca, IntervalKind::kStudentised}) {
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

TEST(PairedBootstrap, AgreesWithNumpyOnTheSameIndices) {
  const auto result = compare_paired(golden_pairs(), Better::kUp, kGoldenSettings);
  EXPECT_EQ(result.n, 40);
  EXPECT_NEAR(*result.baseline_mean, 0.5025, 1e-15);
  EXPECT_NEAR(*result.method_mean, 0.4895833333333333, 1e-15);
  EXPECT_NEAR(*result.delta, -0.012916666666666682, 1e-14);
  // index(j) of resample r by the rule of bootstrap_indices.h; numpy.percentile of the 2000 mean differences
  EXPECT_NEAR(result.ci->low, -0.16005208333333337, 1e-13);
  EXPECT_NEAR(result.ci->high, 0.14251041666666658, 1e-13);
}

TEST(PairedBootstrap, PairingNarrowsTheInterval) {
  const auto pairs = correlated_pairs();
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

TEST(PairedBootstrap, AConstantDifferenceHasAnIntervalOfNoWidth) {
  std::vector<PairedValue> pairs;
  for (int i = 0; i < 50; ++i) pairs.push_back({i * 0.5, i * 0.5 + 0.25, i});
  const auto result = compare_paired(pairs, Better::kUp);
  EXPECT_EQ(*result.delta, 0.25);
  EXPECT_EQ(result.ci->low, 0.25);
  EXPECT_EQ(result.ci->high, 0.25);
  EXPECT_FALSE(result.t.has_value());
  EXPECT_FALSE(result.p_value.has_value());
}

TEST(PairedBootstrap, EqualArmsGiveZeroAndOnlyTies) {
  std::vector<PairedValue> pairs;
  for (int i = 0; i < 50; ++i) pairs.push_back({arm_a(i), arm_a(i), i});
  const auto result = compare_paired(pairs, Better::kUp);
  EXPECT_EQ(*result.delta, 0);
  EXPECT_EQ(result.ties, 50);
  EXPECT_FALSE(result.ci->excludes_zero());
}

TEST(PairedBootstrap, IsEqualToTheBitWhateverTheNumberOfThreads) {
  const auto sums = cluster_sums(golden_pairs());
  BootstrapSettings settings = kGoldenSettings;
  settings.threads = 1;
  const auto expected = bootstrap_deltas(sums, settings);
  for (const unsigned threads : {2u, 3u, 7u}) {
    settings.threads = threads;
    EXPECT_EQ(bootstrap_deltas(sums, settings), expected) << threads << " threads";
  }
}

TEST(PairedBootstrap, ClustersOfOneAreThePlainBootstrap) {
  const auto pairs = golden_pairs();
  const auto deltas = bootstrap_deltas(cluster_sums(pairs), kGoldenSettings);
  std::vector<std::uint32_t> indices(pairs.size());
  for (std::uint32_t resample = 0; resample < deltas.size(); ++resample) {
    resample_indices(7, resample, kCount, indices);
    double sum = 0;
    for (const auto index : indices) sum += *pairs[index].method - *pairs[index].baseline;
    EXPECT_NEAR(deltas[resample], sum / kCount, 1e-14);
  }
}

TEST(PairedBootstrap, OnlyMembershipMattersNotTheNumbersOfClusters) {
  auto pairs = golden_pairs();
  const auto expected = compare_paired(pairs, Better::kUp, kGoldenSettings);
  for (auto& pair : pairs) pair.cluster = 1000000 - 17 * pair.cluster;
  const auto renamed = compare_paired(pairs, Better::kUp, kGoldenSettings);
  EXPECT_EQ(renamed.ci->low, expected.ci->low);
  EXPECT_EQ(renamed.ci->high, expected.ci->high);
}

TEST(PairedBootstrap, DrawsWholeClusters) {
  auto pairs = golden_pairs();  // cluster = i // 3 below 30, its own above: 20 clusters
  for (auto& pair : pairs) pair.cluster = pair.cluster < 30 ? pair.cluster / 3 : pair.cluster;
  const auto result = compare_paired(pairs, Better::kUp, kGoldenSettings);
  EXPECT_EQ(result.clusters, 20);
  EXPECT_EQ(result.test, "paired-t-clustered");
  // S, C: sum and size of each cluster; numpy.percentile of S[index].sum() / C[index].sum()
  EXPECT_NEAR(result.ci->low, -0.09999999999999998, 1e-13);
  EXPECT_NEAR(result.ci->high, 0.0773263888888888, 1e-13);
  // se = sqrt(G / (G - 1) * ((S - C * delta)**2).sum()) / n; scipy.stats.t.sf with G - 1
  EXPECT_NEAR(*result.t, -0.2813155605395485, 1e-12);
  EXPECT_NEAR(*result.p_value, 0.7815092144005099, 1e-12);
}

TEST(PairedBootstrap, RepeatingEveryPairInItsClusterChangesNothing) {
  const auto once = golden_pairs();
  auto twice = once;
  twice.insert(twice.end(), once.begin(), once.end());
  const auto expected = compare_paired(once, Better::kUp, kGoldenSettings);
  const auto repeated = compare_paired(twice, Better::kUp, kGoldenSettings);
  EXPECT_EQ(repeated.n, 80);
  EXPECT_NEAR(repeated.ci->low, expected.ci->low, 1e-14);
  EXPECT_NEAR(repeated.ci->high, expected.ci->high, 1e-14);
  EXPECT_NEAR(*repeated.p_value, *expected.p_value, 1e-12);
}

TEST(PairedT, AgreesWithScipy) {
  const auto result = compare_paired(golden_pairs(), Better::kUp, kGoldenSettings);
  EXPECT_NEAR(*result.t, -0.16660277873374957, 1e-12);  // scipy.stats.ttest_rel(b, a)
  EXPECT_NEAR(*result.p_value, 0.8685433937091698, 1e-12);
  EXPECT_EQ(result.test, "paired-t");
}

TEST(ComparePaired, AWinIsTheBetterDirection) {
  const auto up = compare_paired(golden_pairs(), Better::kUp, kGoldenSettings);
  EXPECT_EQ(up.wins, 19);
  EXPECT_EQ(up.ties, 3);
  EXPECT_EQ(up.losses, 18);
  const auto down = compare_paired(golden_pairs(), Better::kDown, kGoldenSettings);
  EXPECT_EQ(down.wins, 18);
  EXPECT_EQ(down.losses, 19);
  EXPECT_EQ(down.delta, up.delta) << "delta is method - baseline in either case";
}

TEST(ComparePaired, PairsThatLackASideAreCountedAndEnterNothingElse) {
  auto pairs = golden_pairs();
  pairs.push_back({std::nullopt, 0.5, 100});
  pairs.push_back({0.5, std::nullopt, 101});
  const auto result = compare_paired(pairs, Better::kUp, kGoldenSettings);
  EXPECT_EQ(result.n, 40);
  EXPECT_EQ(result.n_missing, 2);
  EXPECT_EQ(result.ci->low, compare_paired(golden_pairs(), Better::kUp, kGoldenSettings).ci->low);
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

}  // namespace
}  // namespace harness
