#include "trainers/advantage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace harness {
namespace {

using ::testing::DoubleEq;
using ::testing::Each;
using ::testing::ElementsAre;

TEST(Advantage, IsTheRewardInPopulationStandardDeviationsOfItsGroup) {
  const std::optional<double> rewards[] = {0.0, 1.0, 0.2, 0.4};
  const auto a = group_advantages(rewards, 2);
  EXPECT_THAT(a.values, ElementsAre(DoubleEq(-0.5 / 0.5001), DoubleEq(0.5 / 0.5001),
                                    ::testing::DoubleNear(-0.1 / 0.1001, 1e-12),
                                    ::testing::DoubleNear(0.1 / 0.1001, 1e-12)));
  EXPECT_EQ(a.zero_std_groups, 0);
}

TEST(Advantage, IsExactlyZeroInAGroupOfEqualRewards) {
  const std::optional<double> rewards[] = {0.1, 0.1, 0.1, 0.0, 0.5, 1.0};  // the mean of three 0.1 is not 0.1
  const auto a = group_advantages(rewards, 3);
  EXPECT_THAT(std::vector(a.values.begin(), a.values.begin() + 3), Each(0.0));
  EXPECT_EQ(a.zero_std_groups, 1);
}

TEST(Advantage, IsClampedToTheLimit) {
  std::vector<std::optional<double>> rewards(100, 0.0);
  rewards[3] = 1.0;  // 9.9 standard deviations
  EXPECT_EQ(group_advantages(rewards, 100).values[3], 5);
  EXPECT_EQ(group_advantages(rewards, 100, 2).values[3], 2);
}

TEST(Advantage, AMissingRewardLeavesTheStatisticsAndGetsZero) {
  const std::optional<double> with[] = {0.0, {}, 1.0}, without[] = {0.0, 1.0};
  const auto a = group_advantages(with, 3), b = group_advantages(without, 2);
  EXPECT_THAT(a.values, ElementsAre(b.values[0], 0.0, b.values[1]));
  EXPECT_EQ(a.missing, 1);
}

TEST(Advantage, AGroupWithoutAnyRewardIsMissingAndNotEqual) {
  const std::optional<double> rewards[] = {{}, {}};
  const auto a = group_advantages(rewards, 2);
  EXPECT_THAT(a.values, Each(0.0));
  EXPECT_EQ(a.missing, 2);
  EXPECT_EQ(a.zero_std_groups, 0);
  EXPECT_THAT(a.group_differs, ElementsAre(false));
}

TEST(Advantage, GlobalDividesByTheDeviationOfAllRewardsAndKeepsTheGroupsMean) {
  const std::optional<double> rewards[] = {0.0, 1.0, 0.2, 0.4, 0.7, 0.7, {}, 0.9};
  const double known[] = {0.0, 1.0, 0.2, 0.4, 0.7, 0.7, 0.9};
  double sum = 0, squares = 0;
  for (const double r : known) sum += r, squares += r * r;
  const double deviation = std::sqrt(squares / 7 - sum / 7 * (sum / 7)) + 1e-4;
  const auto a = group_advantages(rewards, 2, 5, AdvantageStd::kGlobal);
  const double expected[] = {
      -0.5 / deviation, 0.5 / deviation, -0.1 / deviation, 0.1 / deviation, 0, 0, 0, 0};
  for (std::size_t i = 0; i < 8; ++i) EXPECT_NEAR(a.values[i], expected[i], 1e-12) << i;
  EXPECT_EQ(a.zero_std_groups, 2) << "equal rewards teach nothing, whatever the others are";
  EXPECT_THAT(a.group_differs, ElementsAre(true, true, false, false));
}

}  // namespace
}  // namespace harness
