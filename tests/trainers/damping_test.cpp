#include "trainers/damping.h"

#include <gtest/gtest.h>

#include <limits>

#include "trainers/optimisation/gradient_sum.h"

namespace harness {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

TEST(Damping, IsTheMeanWeightAndTheShareBelowOne) {
  const auto damping = damping_of({1, 0.5, 0.25, 1});
  ASSERT_TRUE(damping);
  EXPECT_DOUBLE_EQ(damping->mean_weight, 0.6875);
  EXPECT_DOUBLE_EQ(damping->share, 0.5);
}

TEST(Damping, AStepWithoutAWeightCountsAsOne) {
  EXPECT_DOUBLE_EQ(damping_of({kNan, 0.5})->mean_weight, 0.75);
  EXPECT_FALSE(damping_of({kNan, kNan}));
}

GradientSum::Gradients gradients_of(float a, float b) {
  return {torch::full({3}, a), torch::full({2}, b)};
}

TEST(GradientSum, TakesTheWeightsOutInTheOrderOfTheTasks) {
  GradientSum sum(2);
  sum.add(2, gradients_of(0.5F, 1), 0.25);  // ready first, added last
  sum.add(0, gradients_of(1, 2));
  sum.add(1, {torch::Tensor(), torch::full({2}, 3.0F)}, 0.5);
  EXPECT_TRUE(torch::equal(sum.total()[0], torch::full({3}, 1.5F)));
  EXPECT_TRUE(torch::equal(sum.total()[1], torch::full({2}, 6.0F)));
  EXPECT_TRUE(torch::equal(sum.undamped()[0], torch::full({3}, 3.0F)));
  EXPECT_TRUE(torch::equal(sum.undamped()[1], torch::full({2}, 12.0F)));
}

}  // namespace
}  // namespace harness
