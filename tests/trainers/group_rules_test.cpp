#include "trainers/forward/group_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "trainers/forward/sample_rules.h"

namespace harness {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;

torch::Tensor numbers(const std::vector<double>& values) {
  return torch::tensor(values, torch::kFloat64);
}

std::vector<double> values_of(const torch::Tensor& x) {
  return {x.const_data_ptr<double>(), x.const_data_ptr<double>() + x.numel()};
}

TEST(SampleRules, OptimalityMapsTheAdvantageToZeroToOne) {
  EXPECT_THAT(values_of(optimality(numbers({0, 2, -2.5, 9, -9}), 5)), ElementsAre(0.5, 0.7, 0.25, 1, 0));
}

TEST(SampleRules, SoftmaxWeightsAreOfTheAdvantagesOfAPrompt) {
  // Two prompts, the second's samples around the first's.
  const auto group = torch::tensor({1, 0, 0, 1, 1}, torch::kInt64);
  const auto weights = [&](const std::vector<double>& a, double temperature) {
    return values_of(softmax_weights(numbers(a), group, temperature).contiguous());
  };
  const double low = std::exp(-1 / 0.7), high = std::exp(1 / 0.7), sum = low + high;
  EXPECT_THAT(weights({0, -1, 1, 0, 0}, 0.7),
              ElementsAre(1, DoubleNear(2 * low / sum, 1e-12), DoubleNear(2 * high / sum, 1e-12), 1, 1));
  EXPECT_THAT(weights({0, 0, 0, 1, 0}, 1e-6), ElementsAre(0, 1, 1, 3, 0)) << "the best alone";
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
