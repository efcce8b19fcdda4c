#include "bench/page_simulation.h"

#include <gtest/gtest.h>

namespace harness {
namespace {

constexpr PageNoise kUsualNoise{.prompt_se = .0034, .run_sd = .012, .stable = .5};
constexpr int kPages = 250;

PageRates rates_of(const PageDesign& design, const PageNoise& noise = kUsualNoise, int pages = kPages) {
  return PageSimulation(design, noise).pages(pages, 1);
}

double part_of(std::int64_t count, std::int64_t of) {
  return static_cast<double>(count) / static_cast<double>(of);
}

/// .05 and three standard errors.
double most_false(int pages) {
  return kFamilyLevel + 3 * std::sqrt(kFamilyLevel * (1 - kFamilyLevel) / pages);
}

TEST(PageSimulation, NoMorePagesThanTheLevelHaveAFalseClaimWhateverIsAskedAtOneLookOrThree) {
  const Truth over_base{.over_base = 0.14, .guards_over_base = 0.14};
  const PageDesign designs[] = {{.text = "1 question", .methods = 1, .metrics = 1, .has_base = false},
                                {.text = "3 questions", .methods = 1, .metrics = 3, .has_base = false},
                                {.text = "20 questions and the panel"},
                                {.text = "20, above the base model", .truth = over_base},
                                {.text = "34 questions", .methods = 34, .metrics = 1, .has_base = false}};
  std::int64_t false_pages = 0;
  for (auto design : designs) {
    for (const auto& looks : {std::vector<std::int64_t>{5}, {3, 5, 8}}) {
      design.looks = looks;
      const auto rates = rates_of(design);
      EXPECT_LE(part_of(rates.false_pages, rates.pages), most_false(kPages))
          << design.text << ", " << looks.size();
      false_pages += rates.false_pages;
    }
  }
  EXPECT_GT(false_pages, 0);
}

TEST(PageSimulation, HarmedGuardrailsRaiseAlarmsAndOnesAtTheMinimalEffectSeldom) {
  PageDesign design{.methods = 1, .truth = {.over_base = 0.1, .guards_over_base = -3 * kMinimalEffect}};
  const PageNoise noise{.prompt_se = .0034, .run_sd = .006, .stable = .5};
  const auto harmed = rates_of(design, noise);
  EXPECT_GE(part_of(harmed.alarms, harmed.pages), 0.5);
  EXPECT_LE(part_of(harmed.false_pages, harmed.pages), most_false(kPages));
  design.truth.guards_over_base = -kMinimalEffect;
  const auto at_minimum = rates_of(design, noise);
  EXPECT_LE(part_of(at_minimum.false_pages, at_minimum.pages), most_false(kPages));
}

TEST(PageSimulation, ItsIntervalsHoldTheTruthAndAreAsWideAsThoseOfEveryPromptDrawn) {
  const PageDesign design{.methods = 1, .has_base = false};  // whose run variance is its own
  const auto rates = rates_of(design);
  EXPECT_NEAR(part_of(rates.covered, rates.comparisons), 0.95, 0.02);
  // Results/STATISTICS.md, "Error rates of the rule": 20,000 tables of the rule of 0.1.0 at 5 runs.
  const auto half_width = [](const PageRates& of) {
    return of.half_width / static_cast<double>(of.comparisons);
  };
  EXPECT_NEAR(half_width(rates), .0152, .0006);
  EXPECT_NEAR(half_width(rates_of(design, {.0034, 0, .5})), .0052, .0002);
}

TEST(PageSimulation, ALargeDifferenceIsFoundAndAClaimsIntervalHoldsIt) {
  const auto rates = rates_of({.has_base = false, .truth = {.better = 0.05}, .looks = {8}});
  EXPECT_GE(part_of(rates.found, rates.pages), 0.95);
  EXPECT_GE(part_of(rates.held, rates.claims), 0.9);
}

TEST(PageSimulation, TwoRunsMakeNoClaim) {
  const auto rates = rates_of({.truth = {.over_base = 0.5}, .looks = {2}}, kUsualNoise, 50);
  EXPECT_EQ(rates.claims, 0);
  EXPECT_EQ(rates.alarms, 0);
}

TEST(PageSimulation, ValuesDrawnOneByOneAreJudgedToo) {
  for (const auto tail :
       {Tail::kPrompts, Tail::kFlips, Tail::kRates, Tail::kCeiling, Tail::kUnpaired, Tail::kUnequalSpread}) {
    const auto rates =
        rates_of({.metrics = 1, .has_base = false, .prompts = 48, .tail = tail}, kUsualNoise, 100);
    EXPECT_GE(part_of(rates.covered, rates.comparisons), 0.85);
  }
  for (const auto missing : {Missing::kByChance, Missing::kLowest}) {
    const auto rates =
        rates_of({.metrics = 1, .has_base = false, .prompts = 48, .missing = missing}, kUsualNoise, 100);
    EXPECT_GE(part_of(rates.covered, rates.comparisons), 0.85);
  }
}

TEST(PageSimulation, ALeaderboardThatDiffersInOneViewAloneIsFalselyBetterLessOftenThanItIsPerImage) {
  PageDesign design{.methods = 10,
                    .metrics = 1,
                    .has_base = false,
                    .truth = {.methods = 0.1},
                    .looks = {8},
                    .prompts = 64,
                    .is_leaderboard = true,
                    .is_equal_there = true};
  const auto one_view = rates_of(design, kUsualNoise, 40);
  EXPECT_EQ(one_view.found, 40);
  EXPECT_EQ(one_view.false_boards, one_view.board_claims);
  EXPECT_LE(one_view.board_claims, 20);
  design.is_equal_there = false;
  EXPECT_EQ(rates_of(design, kUsualNoise, 40).false_boards, 0);
}

TEST(PageSimulation, RunsOfAPopulationAreDrawnAboutTheirMeans) {
  const Population population{{{.5, .51, .52, .49, .48}, {.7, .71, .70, .69, .73}, {.1, .2, .15, .14, .11}}};
  const auto rates = rates_of({.population = &population, .kernel = 0.5});
  EXPECT_EQ(rates.comparisons, 2 * kPages);
  EXPECT_GE(part_of(rates.covered, rates.comparisons), 0.85);
}

}  // namespace
}  // namespace harness
