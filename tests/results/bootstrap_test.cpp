#include "results/statistics/bootstrap.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "core/error.h"
#include "results/statistics/statistics.h"

namespace harness {
namespace {

// The data of statistics_test.cpp; goldens by tests/results/statistics_peer.py (numpy 2.4.6, scipy 1.17.1).
constexpr int kCount = 40;
double arm_a(int i) {
  return ((7 * i + 3) % 11) / 10.0;
}
double arm_b(int i) {
  return ((5 * i * i + 2 * i + 1) % 13) / 12.0;
}

std::vector<PairedValue> pairs_with(int (*cluster)(int), int (*seed)(int)) {
  std::vector<PairedValue> pairs;
  for (int i = 0; i < kCount; ++i) pairs.push_back({arm_a(i), arm_b(i), cluster(i), seed(i)});
  return pairs;
}
int itself(int i) {
  return i;
}
int in_threes(int i) {
  return i < 30 ? i / 3 : i;
}
int one_seed(int) {
  return 0;
}

BootstrapSettings golden(IntervalKind kind) {
  return {.resamples = 2000, .seed = 7, .interval = kind};
}

constexpr IntervalKind kKinds[] = {IntervalKind::kPercentile, IntervalKind::kBca, IntervalKind::kStudentised};

void expect_near(const std::optional<Interval>& interval, double low, double high) {
  ASSERT_TRUE(interval.has_value());
  EXPECT_NEAR(interval->low, low, 1e-12);
  EXPECT_NEAR(interval->high, high, 1e-12);
}

TEST(BootstrapIntervals, AgreeWithScipyOnTheSameIndices) {
  const auto pairs = pairs_with(itself, one_seed);
  const auto interval = [&](IntervalKind kind) {
    return compare_paired(pairs, Better::kUp, golden(kind)).ci;
  };
  expect_near(interval(IntervalKind::kPercentile), -0.16005208333333323, 0.1425104166666666);
  // scipy.stats.bootstrap(method="BCa", n_resamples=0, bootstrap_result=ours)
  expect_near(interval(IntervalKind::kBca), -0.15762289886983286, 0.14561819615877764);
  expect_near(interval(IntervalKind::kStudentised), -0.17837524677550304, 0.14478300932491686);
}

TEST(BootstrapIntervals, OfClustersAgreeWithNumpyOnTheSameIndices) {
  const auto pairs = pairs_with(in_threes, one_seed);
  const auto interval = [&](IntervalKind kind) {
    return compare_paired(pairs, Better::kUp, golden(kind)).ci;
  };
  expect_near(interval(IntervalKind::kBca), -0.1119567157459155, 0.06568406301556959);
  expect_near(interval(IntervalKind::kStudentised), -0.1166889071421368, 0.07606256086827494);
}

TEST(BootstrapIntervals, OverSeedsAndPromptsAgreeWithNumpyOnTheSameIndices) {
  const auto pairs = pairs_with([](int i) { return i % 20; }, [](int i) { return i / 20; });
  const auto result = compare_paired(pairs, Better::kUp, golden(IntervalKind::kPercentile));
  EXPECT_EQ(result.seeds, 2);
  expect_near(result.ci, -0.13584374999999999, 0.11624999999999999);
  expect_near(result.ci_seeds, -0.20666666666666664, 0.1625104166666666);
}

TEST(BootstrapIntervals, NamesAreTheOnesOfTheCommandLine) {
  for (const auto kind : kKinds) {
    EXPECT_EQ(interval_from_name(std::string(interval_name(kind)), "--interval"), kind);
  }
  try {
    interval_from_name("percentil", "--interval");
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), R"(--interval: unknown interval "percentil"; did you mean "percentile"?)");
  }
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

class Coverage : public ::testing::TestWithParam<IntervalKind> {};
TEST_P(Coverage, Of762PromptsIs94To96Percent) {
  const double share = coverage(GetParam(), 2000);
  RecordProperty("coverage", std::to_string(share));
  EXPECT_GE(share, 0.94);
  EXPECT_LE(share, 0.96);
}
INSTANTIATE_TEST_SUITE_P(OfEveryKind, Coverage, ::testing::ValuesIn(kKinds),
                         [](const auto& instance) { return std::string(interval_name(instance.param)); });

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
  EXPECT_FALSE(compare_paired(pairs_with(itself, one_seed), Better::kUp).ci_seeds.has_value());
}

/// Five metrics: pairs of their own, one shorter by a missing value, one of two seeds.
std::vector<PairedMetric> several_metrics() {
  std::vector<PairedMetric> metrics;
  for (int k = 0; k < 5; ++k) {
    auto pairs = pairs_with(itself, one_seed);
    for (auto& pair : pairs) *pair.method += 0.1 * k * std::sin(static_cast<double>(k + pair.cluster));
    metrics.push_back({std::move(pairs), Better::kUp});
  }
  metrics[3].pairs[7].method.reset();
  metrics[4].pairs = pairs_with([](int i) { return i % 20; }, [](int i) { return i / 20; });
  return metrics;
}

TEST(BootstrapOfSeveralMetrics, GivesEachOneWhatItWouldGetAlone) {
  const auto metrics = several_metrics();
  for (const auto kind : kKinds) {
    const auto together = compare_paired(metrics, golden(kind));
    for (std::size_t i = 0; i < metrics.size(); ++i) {
      const auto alone = compare_paired(metrics[i].pairs, metrics[i].better, golden(kind));
      EXPECT_EQ(together[i].ci->low, alone.ci->low) << i;
      EXPECT_EQ(together[i].ci->high, alone.ci->high) << i;
    }
  }
}

TEST(BootstrapOfSeveralMetrics, IsEqualToTheBitWhateverTheNumberOfThreads) {
  const auto metrics = several_metrics();
  for (const auto kind : kKinds) {
    auto settings = golden(kind);
    settings.threads = 1;
    const auto expected = compare_paired(metrics, settings);
    for (const unsigned threads : {2u, 3u, 7u}) {
      settings.threads = threads;
      const auto results = compare_paired(metrics, settings);
      for (std::size_t i = 0; i < metrics.size(); ++i) {
        EXPECT_EQ(results[i].ci->low, expected[i].ci->low);
        EXPECT_EQ(results[i].ci->high, expected[i].ci->high);
      }
      EXPECT_EQ(results[4].ci_seeds->low, expected[4].ci_seeds->low);
      EXPECT_EQ(results[4].ci_seeds->high, expected[4].ci_seeds->high);
    }
  }
}

TEST(BootstrapIntervals, OfAConstantDifferenceHaveNoWidthWhateverTheKind) {
  std::vector<PairedValue> pairs;
  for (int i = 0; i < 50; ++i) pairs.push_back({i * 0.5, i * 0.5 + 0.25, i});
  for (const auto kind : kKinds) expect_near(compare_paired(pairs, Better::kUp, golden(kind)).ci, 0.25, 0.25);
}

TEST(StudentisedInterval, IsAbsentWhereTooManyResamplesHaveNoSpread) {
  std::vector<PairedValue> pairs;  // one prompt of ten differs: a third of the resamples miss it
  for (int i = 0; i < 10; ++i) pairs.push_back({0.0, i == 0 ? 1.0 : 0.0, i});
  EXPECT_TRUE(compare_paired(pairs, Better::kUp, golden(IntervalKind::kPercentile)).ci.has_value());
  EXPECT_FALSE(compare_paired(pairs, Better::kUp, golden(IntervalKind::kStudentised)).ci.has_value());
}

}  // namespace
}  // namespace harness
