#include "results/statistics/critical_value.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>

#include "results/statistics/bootstrap.h"

namespace harness {
namespace {

constexpr std::int64_t kManyPrompts = 1'000'000'000;

double two_sided_t(double freedom, double level) {
  return quantile(complement(boost::math::students_t(freedom), level / 2));
}

/// Variances of a mean difference of which the runs have this share.
VarianceParts with_share(double runs) {
  return {runs, 1 - runs};
}

const double kShares[] = {0, 1e-3, .01, .05, .1, .2, .3, .4, .5, .6, .7, .8, .9, .95, .99, .999, 1};

TEST(CriticalValue, WeightsThePromptsAsAnIndependentQuadratureFinds) {
  // By a program of its own in Python (midpoint rule over 3,000 points of log chi^2, bisection of kappa, true
  // shares in steps of 0.25 of their log odds): 1.091 and 1.614. Here kappa is interpolated between levels.
  EXPECT_NEAR(prompts_weight(2, 0.05), 1.091, 0.01);
  EXPECT_NEAR(prompts_weight(4, 0.05), 1.614, 0.01);
}

TEST(CriticalValue, IsStudentsTWhereOnePartIsAll) {
  EXPECT_DOUBLE_EQ(CriticalValue({2, 761}, 0.05)({1, 0}), two_sided_t(2, 0.05));
  EXPECT_DOUBLE_EQ(CriticalValue({2, 761}, 0.05)({0, 1}), two_sided_t(761, 0.05));
}

// Welch's degrees of freedom of runs that are not paired are no whole numbers.
TEST(CriticalValue, TakesDegreesOfFreedomOfTheRunsThatAreNoWholeNumbers) {
  EXPECT_DOUBLE_EQ(CriticalValue({2.7, 761}, 0.05)({1, 0}), two_sided_t(2.7, 0.05));
  EXPECT_EQ(prompts_weight(2.7, 0.05), prompts_weight(2, 0.05)) << "of the next lower whole number";
  for (const double share : kShares) {
    EXPECT_LE(CriticalValue({3, 761}, 0.05)(with_share(share)),
              CriticalValue({2.7, 761}, 0.05)(with_share(share)));
    EXPECT_LE(CriticalValue({2.7, 761}, 0.05)(with_share(share)),
              CriticalValue({2, 761}, 0.05)(with_share(share)));
  }
}

TEST(CriticalValue, RisesWithTheShareOfTheRuns) {
  const CriticalValue critical({2, 761}, 0.05);
  double last = 0;
  for (const double share : kShares) {
    EXPECT_GE(critical(with_share(share)), last) << share;
    last = critical(with_share(share));
  }
}

TEST(FalseDifferences, AreNowhereMoreThanTheLevelAndOfFivePercentNowhereBelowFour) {
  for (const double freedom : {2.0, 2.7, 3.0, 3.99, 4.0, 7.0, 15.0}) {
    for (const double share : kShares) {
      const auto rate = [&](double level) {
        return rejection_rate(0, with_share(share), {freedom, kManyPrompts}, level);
      };
      for (const double level : {0.2, 0.05, 0.05 / 8, 0.001})
        EXPECT_LE(rate(level), 1.02 * level) << freedom << " " << level << " " << share;
      EXPECT_GE(rate(0.05), 0.04) << freedom << " " << share;
    }
  }
}

TEST(FalseDifferencesOfSatterthwaite, AreTooMany) {
  // The rule that this one replaces, at 3 runs and a share of 0.9: by the quadrature above 7.8 %.
  const double share = 0.9;
  double rate = 0, weight = 0;
  for (double y = -20; y < 4; y += 0.01) {  // y = log(chi^2 / 2), 2 degrees of freedom
    const double w = std::exp(y), runs = share * w, total = runs + 1 - share;
    const double freedom = 2 * total * total / (runs * runs);
    const double density = std::exp(y - w);
    rate += density * std::erfc(two_sided_t(std::min(freedom, 1e9), 0.05) * std::sqrt(total / 2));
    weight += density;
  }
  EXPECT_NEAR(rate / weight, 0.078, 0.001);
}

TEST(CrossedPValue, IsBelowTheLevelExactlyWhereTheIntervalLeavesOutZero) {
  for (const double share : kShares) {
    for (const double level : {0.3, 0.05, 0.001}) {
      const double critical = CriticalValue({2, 761}, level)(with_share(share));
      EXPECT_LT(crossed_p_value(critical * 1.0001, with_share(share), {2, 761}), level) << share;
      EXPECT_GT(crossed_p_value(critical * 0.9999, with_share(share), {2, 761}), level) << share;
      EXPECT_GT(crossed_p_value(-critical * 0.9999, with_share(share), {2, 761}), level) << share;
    }
  }
}

TEST(CrossedPValue, FallsWithTheDistance) {
  double last = 2;
  for (const double t : {0.0, 1e-9, 0.1, 0.5, 1.0, 2.0, 4.0, 16.0, 1e3, 1e9}) {
    const double p = crossed_p_value(t, {1, 1}, {2, 761});
    EXPECT_LT(p, last) << t;
    last = p;
  }
  EXPECT_EQ(crossed_p_value(0, {1, 1}, {2, 761}), 1);
  EXPECT_GE(crossed_p_value(1e300, {1, 1}, {2, 761}), 0);
}

TEST(CrossedPValue, IsStudentsWhereOnePartIsAll) {
  const boost::math::students_t t(2);
  EXPECT_NEAR(crossed_p_value(5, {1, 0}, {2, 761}), 2 * cdf(complement(t, 5.0)), 1e-10);
}

TEST(RejectionRate, IsCertainForAnEffectFarAboveTheNoise) {
  EXPECT_NEAR(rejection_rate(1000, {1, 1}, {2, 761}, 0.05), 1, 1e-9);
}

}  // namespace
}  // namespace harness
