#include "trainers/optimisation/gradient_sum.h"

#include <gtest/gtest.h>

namespace harness {
namespace {

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
