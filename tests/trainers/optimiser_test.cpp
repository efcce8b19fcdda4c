#include "trainers/optimisation/optimiser.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/recorded_cases.h"
#include "tests/trainers/step_fixture.h"
#include "trainers/optimisation/ema.h"
#include "trainers/optimisation/fold_sum.h"

namespace harness {
namespace {

std::vector<NamedTensor> two_weights() {
  return {{"w", normal(1, {5, 7}).requires_grad_()}, {"b", normal(2, {3}).requires_grad_()}};
}

// The recorded case adamw_ema holds AdamW and the averages to PyTorch and diffusers.
TEST(AdamW, ReportsTheNormBeforeClippingAndTheChange) {
  auto weights = two_weights();
  const auto before = weights[0].tensor.detach().clone();
  AdamW optimiser(weights, {.lr = 1e-3, .weight_decay = 0});
  const std::vector<torch::Tensor> g = {torch::full({5, 7}, 2.f), torch::zeros({3})};
  const auto report = optimiser.step(g, 0.5);
  EXPECT_NEAR(report.grad_norm, 2 * std::sqrt(35.0), 1e-12);
  EXPECT_NEAR(report.clip_coefficient, 0.5 / (report.grad_norm + 1e-6), 1e-12);
  EXPECT_NEAR(report.update_norm, (weights[0].tensor - before).norm().item<double>(), 1e-8);
  EXPECT_NEAR(report.update_norm, 1e-3 * std::sqrt(35.0), 1e-6);  // the first Adam step is lr a coordinate
}

TEST(AdamW, LeavesAParameterWithoutGradientAlone) {
  auto weights = two_weights();
  const auto before = weights[1].tensor.detach().clone();
  AdamW optimiser(weights, {.lr = 1e-2, .weight_decay = 0.5});
  const std::vector<torch::Tensor> g = {normal(3, {5, 7}), torch::Tensor()};
  optimiser.step(g, 1);
  EXPECT_TRUE(torch::equal(weights[1].tensor, before));
}

TEST(AdamW, RefusesANonFiniteGradientAndChangesNothing) {
  auto weights = two_weights();
  const auto before = weights[0].tensor.detach().clone();
  AdamW optimiser(weights, {});
  const std::vector<torch::Tensor> g = {normal(10, {5, 7}), torch::tensor({1.0F, 2.0F, NAN})};
  EXPECT_THROW(optimiser.step(g, 1), Error);
  EXPECT_TRUE(torch::equal(weights[0].tensor, before));
}

TEST(AdamW, RefusesTheStateOfAnotherModel) {
  auto weights = two_weights();
  AdamW optimiser(weights, {});
  auto state = optimiser.state();
  state["exp_avg.b"] = torch::zeros({4});
  const auto problem = message_of([&] { optimiser.restore(state, "resume/12/optimiser.safetensors"); });
  EXPECT_PROBLEM(problem, "exp_avg.b");
  EXPECT_PROBLEM(problem, "resume/12/optimiser.safetensors");
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
  EXPECT_TRUE(torch::equal(sum.undamped()->at(0), torch::full({3}, 3.0F)));
  EXPECT_TRUE(torch::equal(sum.undamped()->at(1), torch::full({2}, 12.0F)));
}

const Ranks kAlone;

/// Of numbers for which the order of addition matters.
std::vector<FoldSum::Gradients> rounding_gradients(std::size_t tasks) {
  std::vector<FoldSum::Gradients> gradients;
  for (std::size_t i = 0; i < tasks; ++i) {
    const auto seed = static_cast<std::uint32_t>(i);
    gradients.push_back({normal(seed, {257}) * std::pow(10.0, static_cast<double>(i % 4)), torch::Tensor()});
    if (i > 2) gradients.back()[1] = normal(100 + seed, {5});
  }
  return gradients;
}

FoldSum::Gradients chained(const std::vector<FoldSum::Gradients>& parts) {
  FoldSum::Gradients sum(parts.front().size());
  for (const auto& part : parts) add_gradients(sum, part);
  return sum;
}

TEST(FoldSum, AddsEachFoldInOrderAndThenTheFoldsWhateverTheTasksTiming) {
  constexpr std::size_t kTasks = 12;
  const auto gradients = rounding_gradients(kTasks);
  for (const std::size_t count : {1, 4}) {
    const auto size = static_cast<std::ptrdiff_t>(kTasks / count);
    std::vector<FoldSum::Gradients> folds;
    for (auto first = gradients.begin(); first != gradients.end(); first += size)
      folds.push_back(chained({first, first + size}));
    const auto expected = chained(folds);
    EXPECT_EQ(torch::equal(expected[0], chained(gradients)[0]), count == 1)
        << "an order that changes nothing tests nothing";
    for (const std::size_t stride : {1, 5, 7, 11}) {
      FoldSum sum(2, kTasks, count, kAlone);
      for (std::size_t i = 0; i < kTasks; ++i) {
        const auto task = i * stride % kTasks;
        sum.add(task, copy_of(gradients[task]));
      }
      EXPECT_TRUE(torch::equal(sum.total()[0], expected[0])) << stride;
      EXPECT_TRUE(torch::equal(sum.total()[1], expected[1])) << stride;
    }
  }
}

TEST(FoldSum, TakesTheWeightsOutAcrossFolds) {
  FoldSum sum(2, 4, 2, kAlone);
  sum.add(3, gradients_of(0.5F, 1), 0.25);  // only the second fold has a weight
  sum.add(2, gradients_of(1, 1));
  sum.add(1, gradients_of(1, 2));
  sum.add(0, gradients_of(1, 2));
  EXPECT_TRUE(torch::equal(sum.total()[0], torch::full({3}, 3.5F)));
  EXPECT_TRUE(torch::equal(sum.undamped()[0], torch::full({3}, 5.0F)));
  EXPECT_TRUE(torch::equal(sum.undamped()[1], torch::full({2}, 9.0F)));
}

TEST(L2Norm, DoesNotDependOnTheNumberOfThreads) {
  const std::vector<torch::Tensor> big = {normal(4, {1'000'003})};
  const int threads = at::get_num_threads();
  at::set_num_threads(1);
  const double one = l2_norm(big);
  at::set_num_threads(2);
  EXPECT_EQ(l2_norm(big), one);
  at::set_num_threads(threads);
  EXPECT_NEAR(one, big[0].to(torch::kFloat64).norm().item<double>(), 1e-9);
}

TEST(Ema, RepeatsMoveItTowardsTheSameWeightsWithTheSameDecay) {
  // The public loop: u updates done; called `repeats` times, acts where the interval divides u + 1.
  constexpr int kRepeats = 4, kInterval = 8;
  auto weights = two_weights();
  Ema ema(weights, {.rule = EmaRule::kFlowGrpo, .decay = 0.9, .interval = kInterval, .repeats = kRepeats});
  auto expected = weights[0].tensor.detach().clone();
  for (int update = 1; update <= 40; ++update) {
    {
      const torch::NoGradGuard no_grad;
      weights[0].tensor.add_(normal(static_cast<std::uint32_t>(100 + update), {5, 7}));
    }
    const auto decay = ema.update(weights);
    ASSERT_EQ(decay.has_value(), (update + 1) % kInterval == 0) << update;
    if (!decay) continue;
    EXPECT_DOUBLE_EQ(*decay, std::min((1.0 + update) / (10.0 + update), 0.9));
    for (int call = 0; call < kRepeats; ++call)
      expected.sub_((1 - *decay) * (expected - weights[0].tensor.detach()));
    EXPECT_TRUE(torch::equal(ema.averages()[0].tensor, expected)) << update;
  }
}

/// The lag from the weights of the average itself: one number a past update, moved as the average moves.
EmaLag lag_by_hand(const EmaOptions& options, int updates) {
  std::vector<double> shares = {1};  // of the base model, then of those after each update
  std::vector<NamedTensor> none;
  Ema ema(none, options);
  for (int update = 1; update <= updates; ++update) {
    shares.push_back(0);
    const auto decay = ema.update(none);
    if (!decay) continue;
    for (int repeat = 0; repeat < options.repeats; ++repeat) {
      for (auto& share : shares) share *= *decay;
      shares.back() += 1 - *decay;
    }
  }
  EmaLag lag{.updates = 0, .start_share = shares[0]};
  for (int update = 0; update <= updates; ++update)
    lag.updates += shares[static_cast<std::size_t>(update)] * (updates - update);
  return lag;
}

TEST(EmaLag, IsTheMeanAgeOfWhatTheAverageHolds) {
  for (const auto rule : {EmaRule::kPlain, EmaRule::kDiffusers, EmaRule::kFlowGrpo}) {
    for (const int repeats : {1, 3}) {
      for (const int interval : {1, 8}) {
        const EmaOptions options{.rule = rule, .decay = 0.9, .interval = interval, .repeats = repeats};
        for (const int updates : {0, 1, 7, 8, 40, 80}) {
          const auto lag = ema_lag(options, updates), expected = lag_by_hand(options, updates);
          EXPECT_NEAR(lag.updates, expected.updates, 1e-9);
          EXPECT_NEAR(lag.start_share, expected.start_share, 1e-12);
        }
      }
    }
  }
}

// SD3.5's public configuration has decay 0.9 and interval 8; its loop calls the average four times an update.
TEST(EmaLag, OfThePublicConfigurationIsAThirdOfThatWithoutRepeats) {
  const EmaOptions once{.rule = EmaRule::kFlowGrpo, .decay = 0.9, .interval = 8};
  auto four = once;
  four.repeats = 4;
  const double expected_once[] = {18.8, 30.4, 37.6}, expected_four[] = {6.3, 13.1, 13.4};
  const double start_once[] = {0.14, 0.10, 0.07};
  for (int i = 0; i < 3; ++i) {
    const auto a = ema_lag(once, 40 + 20 * i), b = ema_lag(four, 40 + 20 * i);
    EXPECT_NEAR(a.updates, expected_once[i], 0.06);
    EXPECT_NEAR(a.start_share, start_once[i], 0.005);
    EXPECT_NEAR(b.updates, expected_four[i], 0.06);
    EXPECT_LT(b.start_share, 0.001);
  }
}

}  // namespace
}  // namespace harness
