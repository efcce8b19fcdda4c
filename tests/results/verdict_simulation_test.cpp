#include "bench/verdict_simulation.h"

#include <gtest/gtest.h>

namespace harness {
namespace {

constexpr Noise kNoise{.prompt_se = .0034, .run_sd = .006, .stable = .5};

Rates rates_of(int runs, int tables) {
  Random random(1);
  const Rule rule(runs);
  Rates rates;
  for (int i = 0; i < tables; ++i) add_table(kNoise, runs, rule, random, rates);
  return rates;
}

/// Percent of 400 panels.
double alarms(const Truth& truth, const Noise& noise, Claim claim) {
  Random random(2);
  return alarm_share(truth, noise, 3, claim, 400, random);
}

TEST(VerdictSimulation, ItsTablesMakeFalseClaimsAtAboutTheirLevelAndNotNone) {
  const auto rates = rates_of(5, 2000);
  const auto tables = static_cast<double>(rates.tables);
  EXPECT_GE(static_cast<double>(rates.tables_with_firm_claim) / tables, 0.025);
  EXPECT_LE(static_cast<double>(rates.tables_with_firm_claim) / tables, 0.065);
  EXPECT_GE(rates.tables_with_claim, rates.tables_with_firm_claim);
  EXPECT_NEAR(static_cast<double>(rates.covered) / static_cast<double>(rates.comparisons), 0.95, 0.015);
}

TEST(VerdictSimulation, TwoRunsMakeNoClaim) {
  EXPECT_EQ(rates_of(2, 500).claims, 0);
}

TEST(VerdictSimulation, ItsPanelsRaiseFewAlarmsOfTheMinimalEffectAndOneOfTwiceIt) {
  const Truth harmed{.text = {}, .reward = 0.1, .guardrail = -kMinimalEffect};
  const auto share = alarms(harmed, kNoise, Claim::kMethods);
  // Of eight equal questions the seven guardrails are all resolved, the first of them at 0.05 / 8: one
  // interval or more lies beyond the effect in up to 7 / 8 of 2.5 %.
  EXPECT_GT(share, 0);
  EXPECT_LE(share, 4.5);
  const Truth twice{.text = {}, .reward = 0.1, .guardrail = -2 * kMinimalEffect};
  EXPECT_GE(alarms(twice, {.prompt_se = .0034, .run_sd = 0, .stable = .5}, Claim::kMethods), 99);
}

TEST(VerdictSimulation, WhatIsSaidOfCheckpointsRaisesNoAlarmAndIsWatchedMoreOften) {
  const Truth harmed{.text = {}, .reward = 0.1, .guardrail = -kMinimalEffect};
  const Noise noise{.prompt_se = .0034, .run_sd = .012, .stable = .5};
  EXPECT_GE(alarms(harmed, noise, Claim::kCheckpoints), 3 * alarms(harmed, noise, Claim::kMethods));
}

}  // namespace
}  // namespace harness
