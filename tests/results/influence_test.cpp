#include <gtest/gtest.h>

#include "results/statistics/statistics.h"

namespace harness {
namespace {

using Numbers = std::vector<double>;

TEST(InfluentialClusters, AreTheFewestThatCarryMoreThanHalf) {
  EXPECT_EQ(influential_clusters(Numbers{1, 0, 0, 0}), 1);
  EXPECT_EQ(influential_clusters(Numbers{1, 1, 1, 1}), 3) << "two of four leave half, not less than half";
  EXPECT_EQ(influential_clusters(Numbers{5, 3, 1, 1}), 2);
  EXPECT_EQ(influential_clusters(Numbers{6, 3, 1, 1}), 1);
}

TEST(InfluentialClusters, DoNotDependOnTheSideOrTheOrder) {
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

}  // namespace
}  // namespace harness
