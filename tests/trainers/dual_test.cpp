#include <gtest/gtest.h>

#include <cmath>

#include "core/error.h"
#include "tests/trainers/method_fixture.h"

namespace harness {
namespace {

std::unique_ptr<Method> dual(const Json& given = Json::object()) {
  return method_of("dual", given);
}

double beta(const Method& m) {
  return m.statistics().at("dual_beta");
}

TEST(Dual, PenaltyIsTheSmoothHinge) {
  const auto method = dual({{"alpha", 300.0}, {"beta_init", 7.0}, {"beta_max", 100.0}});
  for (const double excess : {-0.5, -0.01, 0.0, 0.003, 0.5}) {
    const double softplus = excess > 0.1 ? excess * 300 : std::log1p(std::exp(300 * excess));
    EXPECT_NEAR(method->penalty(kTau + excess).value, 7 * std::pow(softplus / 300, 2), 1e-12)
        << excess;  // E50, E51
  }
}

TEST(Dual, PenaltyDerivativeMatchesFiniteDifferences) {
  for (const double alpha : {1.0, 4 / kTau, 1e5}) {
    const auto method = dual({{"alpha", alpha}});
    for (const double lambda : {0.0, 0.2 * kTau, 0.9 * kTau, kTau, 1.1 * kTau, 5 * kTau, 3.0}) {
      const double excess = lambda - kTau;
      const double h =
          excess > 10 / alpha ? 1e-5 * excess : 1e-4 / alpha;  // phi bends on the scale of 1 / alpha
      const double up = method->penalty(lambda + h).value, down = method->penalty(lambda - h).value;
      const double derivative = method->penalty(lambda).derivative;
      EXPECT_NEAR(derivative, (up - down) / (2 * h), 1e-6 * derivative + 1e-15 * up / h)
          << alpha << " " << lambda;
    }
  }
}

TEST(Dual, DefaultHingeIsSmallInsideTheBudget) {
  const auto method = dual();
  EXPECT_LT(method->penalty(0.1 * kTau).derivative, 1e-3 * method->penalty(2 * kTau).derivative);
  EXPECT_LT(method->penalty(kTau).derivative, 0.1 * method->penalty(2 * kTau).derivative);
}

TEST(Dual, HugeOverspendStaysFinite) {
  const auto method = dual({{"alpha", 1e6}});
  EXPECT_TRUE(std::isfinite(method->penalty(1e6).value));
  EXPECT_EQ(method->penalty(-1e6).derivative, 0);
}

// What the loop does, derivative / |K_late| on each late step's lambda_center plus the surrogate losses, must
// be the gradient of the whole loss E51 with respect to the means, here of 3 late steps of 2 samples.
TEST(Dual, LoopCoefficientsGiveTheGradientOfTheWholeLoss) {
  constexpr int kSteps = 3;
  constexpr double kS = 0.3, kDt = 0.1;
  const auto method =
      method_of("dual", {{"clip_rule", "absolute"}, {"clip", 2e-3}, {"beta_init", 50.0}}, {"ocr", 8, kSteps});
  const auto noise = normal(0, {3, kSteps, 2, 8}).to(torch::kFloat64);
  const auto old_mean = noise[0], next = old_mean + kS * noise[1];
  const auto advantages = torch::tensor({0.8, -1.1}, torch::kFloat64);
  const auto stats_at = [&](const torch::Tensor& mean, int k) {
    return step_stats(kS, kDt, k, true, old_mean[k], mean[k], next[k]);
  };
  const auto late_lambda = [&](const torch::Tensor& mean) {
    double sum = 0;
    for (int k = 0; k < kSteps; ++k) sum += stats_at(mean, k).lambda_center.mean().item<double>();
    return sum / kSteps;
  };
  const auto whole_loss = [&](const torch::Tensor& mean) {
    double loss = method->penalty(late_lambda(mean)).value;
    for (int k = 0; k < kSteps; ++k) {
      loss += surrogate_loss(method->step(stats_at(mean, k)), advantages).item<double>();
    }
    return loss;
  };

  const auto mean = (old_mean + 0.05 * noise[2]).clone().requires_grad_();
  const auto penalty = method->penalty(late_lambda(mean.detach()));
  ASSERT_GT(penalty.derivative, 0);
  for (int k = 0; k < kSteps; ++k) {
    const auto stats = stats_at(mean, k);
    const auto loss = surrogate_loss(method->step(stats), advantages) +
                      penalty.derivative / kSteps * stats.lambda_center.mean();
    loss.backward();
  }

  EXPECT_LT((mean.grad() - finite_differences(whole_loss, mean)).abs().max().item<double>(), 1e-6);
}

TEST(Dual, MultiplierFollowsTheAverageSpend) {
  const auto method = dual({{"gamma", 0.5}, {"eta_beta", 1000.0}, {"beta_init", 1.0}, {"beta_max", 50.0}});
  method->after_update({.lambda_late = kTau + 0.002, .on_policy = false});
  EXPECT_NEAR(beta(*method), 1 + 1000 * 0.002, 1e-9);  // the average starts at the first value
  method->after_update({.lambda_late = kTau + 0.004, .on_policy = false});
  EXPECT_NEAR(beta(*method), 3 + 1000 * 0.003, 1e-9);  // E53, E54
}

TEST(Dual, MultiplierStaysWithinItsBounds) {
  const auto method = dual({{"eta_beta", 1e6}, {"beta_init", 1.0}, {"beta_max", 50.0}});
  method->after_update({.lambda_late = 1, .on_policy = false});
  EXPECT_EQ(beta(*method), 50);
  for (int i = 0; i < 100; ++i) method->after_update({.lambda_late = 0, .on_policy = false});
  EXPECT_EQ(beta(*method), 0);
  EXPECT_EQ(method->penalty(1).value, 0);
}

TEST(Dual, OnPolicyUpdatesSayNothing) {
  const auto method = dual();
  const auto before = method->state();
  method->after_update({.lambda_late = 0, .on_policy = true});
  EXPECT_EQ(method->state(), before);
}

TEST(Dual, PositiveDeltaToleratesOverspending) {
  const auto method = dual({{"delta", 0.01}, {"beta_init", 2.0}});
  method->after_update({.lambda_late = kTau + 0.01, .on_policy = false});
  EXPECT_NEAR(beta(*method), 2, 1e-9);
}

TEST(Dual, RefusesAStateThatIsNotItsOwnAndAStartAboveItsLargestMultiplier) {
  EXPECT_THROW(dual()->restore({{"beta", "high"}}, "resume/4/method.json"), Error);
  EXPECT_THROW(dual()->restore(Json::object(), "resume/4/method.json"), Error);
  EXPECT_THROW(method_of("flow-grpo")->restore({{"beta", 1}}, "resume"), Error);
  EXPECT_THROW(dual({{"beta_init", 5.0}, {"beta_max", 2.0}}), Error);
}

TEST(Dual, LambdaNormTBaseKeepsItsNormaliserWithoutGradientButNotThePenalty) {
  const auto method = dual({{"base", "lambda-norm-t"}});
  const auto s = stats_of({1e-3}, {5e-3});
  method->step(s).ratio.sum().backward();
  EXPECT_TRUE(s.y.grad().defined());
  EXPECT_FALSE(s.lambda_center.grad().defined());
  EXPECT_TRUE(method->has_penalty());
}

}  // namespace
}  // namespace harness
