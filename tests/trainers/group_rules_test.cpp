#include "trainers/forward/group_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace harness {
namespace {

using ::testing::DoubleNear;
using ::testing::Each;
using ::testing::ElementsAre;

TEST(GroupRules, OptimalityMapsTheAdvantageToZeroToOne) {
  EXPECT_EQ(optimality(0, 5), 0.5);
  EXPECT_EQ(optimality(2, 5), 0.7);
  EXPECT_EQ(optimality(-2.5, 5), 0.25);
  EXPECT_EQ(optimality(9, 5), 1);
  EXPECT_EQ(optimality(-9, 5), 0);
}

TEST(GroupRules, SoftmaxWeightsAreOfTheGroupsAdvantages) {
  const double a = 0.5 / 0.5001 / 0.7, sum = std::exp(a) + std::exp(-a);
  EXPECT_THAT(
      softmax_weights(std::vector{1.0, 2.0}, 0.7),
      ElementsAre(DoubleNear(2 * std::exp(-a) / sum, 1e-12), DoubleNear(2 * std::exp(a) / sum, 1e-12)));
  EXPECT_THAT(softmax_weights(std::vector{0.1, 0.1, 0.1}, 0.7), Each(1.0));
  EXPECT_THAT(softmax_weights(std::vector{0.0, 1.0, 0.0}, 1e-6), ElementsAre(0, 3, 0)) << "the best alone";
}

TEST(GroupRules, BestAreAllThatTie) {
  EXPECT_THAT(best_of(std::vector{0.1, 0.9, 0.3, 0.9}), ElementsAre(1, 3));
  EXPECT_THAT(best_of(std::vector{0.5, 0.5}), ElementsAre(0, 1));
}

TEST(GroupRules, APairIsTheFirstBestAndTheFirstWorst) {
  const auto pair_of = [](const std::vector<double>& rewards) {
    const auto [best, worst] = best_and_worst(rewards);
    return std::pair(best, worst);
  };
  EXPECT_EQ(pair_of({0.3, 0.1, 0.9, 0.1, 0.9}), std::pair(2L, 1L));
  EXPECT_EQ(pair_of({0.5, 0.5, 0.5}), std::pair(1L, 0L));
}

}  // namespace
}  // namespace harness
