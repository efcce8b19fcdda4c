#include "trainers/sampling/rollout_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "tests/trainers/step_fixture.h"
#include "trainers/sampling/dpm.h"

namespace harness {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using Kind = StepRule::Kind;
using Strategy = SlidingWindow::Strategy;

const PlanContext kContext{
    .steps = 10, .trained_steps = 9, .noise_level = 0.7, .guidance = 4.5, .seed = 42, .epoch = 3};

TEST(RolloutPlan, OfTheFlowSdeHasNoiseAtEveryStepAndTrainsTheFirst) {
  const auto plan = flow_sde_plan(kContext);
  ASSERT_EQ(plan.steps.size(), 10U);
  for (const auto& step : plan.steps) EXPECT_EQ(step.rule, (StepRule{Kind::kFlowSde, 0.7}));
  EXPECT_THAT(plan.trained(), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8));
  EXPECT_EQ(plan.guidance, 4.5);
  EXPECT_EQ(plan.weights, kCurrentWeights);
  EXPECT_FALSE(plan.shared_start || plan.finish);
}

TEST(RolloutPlan, OfAWindowHasNoiseThereAloneAndTrainsIt) {
  const StepRule cps{Kind::kCps, 0.8};
  const auto plan = window_plan(kContext, cps, 2, 3);
  EXPECT_THAT(plan.trained(), ElementsAre(2, 3, 4));
  EXPECT_EQ(plan.guidance, 4.5);
  for (std::size_t k = 0; k < 10; ++k)
    EXPECT_EQ(plan.steps[k].rule, k >= 2 && k < 5 ? cps : (StepRule{Kind::kOde, 0})) << k;
  EXPECT_TRUE(window_plan(kContext, cps, 10, 0).trained().empty());
  EXPECT_ANY_THROW(window_plan(kContext, cps, 8, 3));
  EXPECT_ANY_THROW(window_plan(kContext, cps, -1, 3));
}

TEST(PlanDraws, AreThoseOfTheirAddress) {
  for (const int draw : {0, 1, 65535}) {
    const NoiseAddress address{
        .seed = 42, .epoch = 3, .stream = NoiseStream::kPlan, .step = static_cast<std::uint16_t>(draw)};
    const auto expected = -2 + static_cast<int>(std::uint64_t{noise_words(address, 0)[0]} * 6 >> 32);
    EXPECT_EQ(drawn_integer(kContext, draw, -2, 3), expected);  // the low word decides once in 2^30 draws
  }
  EXPECT_EQ(drawn_integer(kContext, 0, 5, 5), 5);
  EXPECT_ANY_THROW(drawn_integer(kContext, 0, 1, 0));
}

TEST(PlanDraws, TakeEveryNumberAboutEquallyOften) {
  std::map<int, int> counts;
  auto context = kContext;
  for (context.epoch = 1; context.epoch <= 3000; ++context.epoch) ++counts[drawn_integer(context, 0, 0, 2)];
  EXPECT_EQ(counts.size(), 3U);
  for (const auto& [number, count] : counts) EXPECT_NEAR(count, 1000, 5 * 26) << number;  // 5 deviations
}

TEST(PlanDraws, OfASubsetRiseAndRepeatNothing) {
  std::map<int, int> counts;
  std::set<std::vector<int>> seen;
  auto context = kContext;
  for (context.epoch = 1; context.epoch <= 1000; ++context.epoch) {
    const auto subset = drawn_subset(context, 3, 5);
    ASSERT_EQ(subset.size(), 3U);
    EXPECT_TRUE(std::ranges::is_sorted(subset, std::less_equal<>{})) << "no number twice";
    EXPECT_TRUE(subset.front() >= 0 && subset.back() < 5);
    EXPECT_EQ(subset, drawn_subset(context, 3, 5));
    for (const int k : subset) ++counts[k];
    seen.insert(subset);
  }
  EXPECT_EQ(seen.size(), 10U);
  for (int k = 0; k < 5; ++k) EXPECT_NEAR(counts[k], 600, 5 * 15.5) << k;
  EXPECT_THAT(drawn_subset(kContext, 4, 4), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(drawn_subset(kContext, 0, 4), ElementsAre());
  EXPECT_THAT(drawn_subset(kContext, 0, 0), ElementsAre());
  EXPECT_ANY_THROW(drawn_subset(kContext, 5, 4));
}

TEST(SlidingWindow, WalksFromNoiseToData) {
  SlidingWindow window{.stay = 2, .last = 2};
  EXPECT_THAT(window.starts(8), ElementsAre(0, 0, 1, 1, 2, 2, 0, 0));
  window.roll_back = false;
  EXPECT_THAT(window.starts(9), ElementsAre(0, 0, 1, 1, 2, 2, 2, 2, 2));
  window.stride = 3;  // beyond the last start
  EXPECT_THAT(window.starts(5), ElementsAre(0, 0, 2, 2, 2));
  window.first = 1;
  window.roll_back = true;
  EXPECT_THAT(window.starts(5), ElementsAre(1, 1, 1, 1, 1));
  EXPECT_TRUE(window.starts(0).empty());
}

// stay = max(1, int(4 (1 - p) + p)), p = 0, 1/3, 2/3, 1: 4, 3, 2, 1 epochs.
TEST(SlidingWindow, DecayStaysShorterTowardsData) {
  const SlidingWindow window{.strategy = Strategy::kDecay, .stay = 4, .min_stay = 1, .last = 3};
  EXPECT_THAT(window.starts(12), ElementsAre(0, 0, 0, 0, 1, 1, 1, 2, 2, 3, 0, 0));
  EXPECT_THAT((SlidingWindow{.strategy = Strategy::kDecay, .stay = 4}.starts(3)), ElementsAre(0, 0, 0));
}

// stay = ceil(4 exp(-ln(2) max(0, position - 1))): 4, 4, 2, 1 epochs.
TEST(SlidingWindow, ExponentialDecayActsFromItsPositionOn) {
  const SlidingWindow window{
      .strategy = Strategy::kExpDecay, .stay = 4, .rate = 0.7, .rate_from = 1, .last = 3};
  EXPECT_THAT(window.starts(12), ElementsAre(0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 3, 0));
}

TEST(MultistepSolver, OfFirstOrderIsEuler) {
  const auto sigmas = shifted_schedule(NoiseGrid::kUniform, 10, 3).sigmas;
  MultistepSolver solver(sigmas, 1);
  auto x = normal(1, {2, 5}).to(torch::kFloat64), euler = x;
  for (int k = 0; k < 10; ++k) {
    const auto v = normal(static_cast<std::uint32_t>(10 + k), {2, 5}).to(torch::kFloat64);
    x = solver.step(k, x, v);
    euler = sde_mean(sde_step(sigmas, k, {Kind::kOde, 0}), euler, v);
    EXPECT_TRUE(torch::allclose(x, euler, 1e-12, 1e-12)) << k;
  }
}

// dx / dsigma = v with x0 = c x: the flow to a normal distribution, x(0) known in closed form.
TEST(MultistepSolver, OfSecondOrderErrsLessThanEuler) {
  const auto error = [](int order) {
    const auto sigmas = shifted_schedule(NoiseGrid::kUniform, 20, 1).sigmas;
    MultistepSolver solver(sigmas, order);
    auto x = torch::ones({1, 1}, torch::kFloat64);
    const double spread = 0.5;  // standard deviation of the data
    for (int k = 0; k < 20; ++k) {
      const double sigma = sigmas[static_cast<std::size_t>(k)], kept = (1 - sigma) * spread;
      const double variance = kept * kept + sigma * sigma;
      x = solver.step(k, x, x * ((sigma - (1 - sigma) * spread * spread) / variance));
    }
    return std::abs(x.item<double>() - spread);
  };
  EXPECT_LT(error(2), error(1) / 3);
}

TEST(MultistepSolver, TakesStepsInOrder) {
  MultistepSolver solver(std::vector{1.F, 0.5F, 0.F}, 2);
  const auto x = torch::ones({1, 1});
  EXPECT_ANY_THROW(solver.step(1, x, x));
  solver.step(0, x, x);
  solver.step(1, x, x);
  EXPECT_ANY_THROW(solver.step(2, x, x));
  EXPECT_ANY_THROW(MultistepSolver(std::vector{1.F, 0.F}, 3));
  EXPECT_ANY_THROW(MultistepSolver(std::vector{0.5F, 0.5F}, 1));
}

TEST(RemainingGrid, WithAPointForEveryStepIsWhatRemains) {
  const auto sigmas = shifted_schedule(NoiseGrid::kDiffusers, 10, 3).sigmas;
  for (int from = 0; from < 10; ++from)
    EXPECT_THAT(remaining_grid(sigmas, from, 10 - from),
                ElementsAreArray(sigmas.begin() + from, sigmas.end()));
}

TEST(RemainingGrid, DividesTheIndexIntoEqualParts) {
  const std::vector sigmas = {1.F, 0.9F, 0.7F, 0.4F, 0.F};
  EXPECT_THAT(remaining_grid(sigmas, 0, 2), ElementsAre(1.F, 0.7F, 0.F));
  EXPECT_THAT(remaining_grid(sigmas, 1, 2), ElementsAre(0.9F, 0.55F, 0.F));
  EXPECT_THAT(remaining_grid(sigmas, 3, 1), ElementsAre(0.4F, 0.F));
  EXPECT_ANY_THROW(remaining_grid(sigmas, 4, 1));
  EXPECT_ANY_THROW(remaining_grid(sigmas, 0, 0));
}

}  // namespace
}  // namespace harness
