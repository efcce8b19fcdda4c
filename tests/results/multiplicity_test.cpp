// Families of questions: Holm's adjustment, and the gate of a table.
#include "results/verdict/multiplicity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <utility>

#include "tests/results/crossed_noise.h"

namespace harness {
namespace {

using ::testing::ElementsAre;
using ::testing::Optional;

TEST(Holm, AgreesWithItsDefinition) {
  // statsmodels: multipletests([0.01, 0.04, 0.03, 0.005], method="holm")[1]
  const std::vector<std::optional<double>> p{0.01, 0.04, 0.03, 0.005};
  const auto adjusted = holm(p);
  const double expected[] = {0.03, 0.06, 0.06, 0.02};
  for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(*adjusted[i], expected[i], 1e-15) << i;
}

TEST(Holm, LeavesOutWhatHasNoPValueAndStaysBelow1) {
  const std::vector<std::optional<double>> p{0.7, std::nullopt, 0.6};
  EXPECT_THAT(holm(p), ElementsAre(Optional(1.0), std::nullopt, Optional(1.0)));
  EXPECT_THAT(holm(std::vector<std::optional<double>>{0.25}), ElementsAre(Optional(0.25)));
}

/// What became of the questions, in their order.
std::vector<double> family_shares(const Family& family) {
  std::vector<double> shares;
  for (std::size_t i = 0; i < family.questions().size(); ++i) shares.push_back(family.at(i).share);
  return shares;
}

Family family_with(const FamilyRoles& roles, std::vector<TableQuestion> questions) {
  give_roles(roles, questions);
  return Family(std::move(questions));
}

/// Roles of a table that selects by the reward and compares its methods with "base" too.
const FamilyRoles kOfTable{.primary = "reward", .base = "base"};

TEST(Family, GivesARestatedMetricOneQuestionWithTheOtherAndTheSmallerP) {
  const Family family({{"base", "dual", "reward", 0.001},
                       {"base", "dual", "cer_paper", 0.001000000000001, "reward"},
                       {"base", "dual", "cer", 0.02},
                       {"base", "guard", "reward", 0.03},
                       {"base", "guard", "cer_paper", 0.02, "reward"}});
  EXPECT_EQ(family.size(), 3U);
  const double expected[] = {0.003, 0.003, 0.04, 0.04, 0.04};
  for (std::size_t i = 0; i < 5; ++i) {
    EXPECT_NEAR(*family.at(i).p, expected[i], 1e-12) << i;
    EXPECT_EQ(family.at(i).over, 3U);
  }
}

TEST(Family, CountsAQuestionWithoutAPValueAndNeverResolvesIt) {
  const Family family({{"base", "dual", "reward", 0.01},
                       {"base", "guard", "reward", 0.02},
                       {"base", "other", "reward", std::nullopt}});
  EXPECT_EQ(family.size(), 3U);
  EXPECT_DOUBLE_EQ(*family.at(0).p, 0.03);
  EXPECT_DOUBLE_EQ(*family.at(1).p, 0.04);
  EXPECT_EQ(family.at(2).p, std::nullopt);
}

TEST(Family, WithoutAPrimaryQuestionIsHolms) {
  std::mt19937_64 bits(1);
  const auto uniform = [&] { return (static_cast<double>(bits() >> 11) + 0.5) * 0x1p-53; };
  const FamilyRoles none, absent{.primary = "a metric that no row has"};
  for (const auto& roles : {none, absent, kOfTable}) {  // of a table of the base model alone
    for (int repeat = 0; repeat < 20; ++repeat) {
      std::vector<TableQuestion> questions;
      std::vector<std::optional<double>> p_values;
      for (const char* method : {"dual", "guard", "other"}) {
        for (const char* metric : {"reward", "cer", "exact"}) {
          p_values.emplace_back(0.1 * uniform());
          questions.push_back({"base", method, metric, p_values.back()});
        }
      }
      const auto family = family_with(roles, std::move(questions));
      const auto expected = holm(p_values);
      for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(*family.at(i).p, *expected[i], 1e-12);
    }
  }
}

/// Two methods against a baseline and all three against the base model in three metrics, with these p.
std::vector<TableQuestion> questions_of_table(double p) {
  std::vector<TableQuestion> questions;
  for (const auto& [baseline, method] : {std::pair{"norm", "dual"},
                                         {"norm", "guard"},
                                         {"base", "norm"},
                                         {"base", "dual"},
                                         {"base", "guard"}}) {
    for (const char* metric : {"reward", "cer", "exact"}) questions.push_back({baseline, method, metric, p});
  }
  return questions;
}

TEST(Family, StartsWithNineTenthsForThePrimaryQuestionsAndATenthForThoseOfTheBaseModel) {
  auto questions = questions_of_table(1);
  questions.push_back({"norm", "dual", "cer_paper", 1, "reward"});
  const auto family = family_with(kOfTable, questions);
  EXPECT_EQ(family.size(), 15U);
  for (std::size_t i = 0; i < questions.size(); ++i) {
    const auto& q = family.questions()[i];
    const bool is_primary = q.baseline == "norm" && q.hypothesis() == "reward";
    const double share = q.baseline == "base" ? 0.1 / 9 : is_primary ? 0.9 / 2 : 0;
    EXPECT_DOUBLE_EQ(family.at(i).share, share) << i;
    // Half of what the primary question of its rows has, shared by two.
    EXPECT_DOUBLE_EQ(family.first_share(q), share > 0 ? share : 0.45 / 2 / 2) << i;
  }
}

TEST(Family, WithoutTheBaseModelThePrimaryQuestionsShareAll) {
  const auto family = family_with({.primary = "reward"}, {{"norm", "dual", "reward", 1},
                                                          {"norm", "dual", "cer", 1},
                                                          {"norm", "guard", "reward", 1},
                                                          {"norm", "guard", "cer", 1}});
  EXPECT_THAT(family_shares(family), ElementsAre(0.5, 0, 0.5, 0));
}

// By hand. The reward of dual is resolved at 0.001 / (1/2); the other primary question has 3/4 then, and cer
// and exact of dual 1/8 each. Cer is resolved at 0.004 / (1/8) = 0.032. It passes .01 to either primary
// question and .98 to exact; the one that is gone passed 1/4 to either of its metrics and 1/2 to the other
// primary one. So exact has 1/8 (1 + (.98 + .01 / 4) / (1 - .01 / 4)) and the reward of guard
// 3/4 + 1/8 (.01 + .01 / 2) / (1 - .01 / 4).
TEST(Family, TestsARowsOtherMetricsOnceItsPrimaryQuestionIsResolved) {
  const auto family = family_with({.primary = "reward"}, {{"norm", "dual", "reward", 0.001},
                                                          {"norm", "dual", "cer", 0.004},
                                                          {"norm", "dual", "exact", 0.03},
                                                          {"norm", "guard", "reward", 0.5},
                                                          {"norm", "guard", "cer", 1e-9},
                                                          {"norm", "guard", "exact", 1e-9}});
  const double of_exact = 0.125 * (1 + 0.9825 / 0.9975), of_guard = 0.75 + 0.125 * 0.015 / 0.9975;
  const double shares[] = {0.5, 0.125, of_exact, of_guard, 0, 0};
  const double p[] = {0.002, 0.032, 0.03 / of_exact, 0.5, 0.5, 0.5};
  for (std::size_t i = 0; i < 6; ++i) {
    EXPECT_NEAR(family.at(i).share, shares[i], 1e-12) << i;
    EXPECT_NEAR(*family.at(i).p, p[i], 1e-12) << i;
  }
}

// By hand. norm of the base model is resolved with 1/20 at 0.02; half of that goes to the other question of
// the base model, which has 3/40, is resolved at 0.0037 / (3/40) and passes all to the primary question.
TEST(Family, QuestionsOfTheBaseModelPassTheirTenthOnToOneAnotherAndToThePrimaryOnes) {
  const auto family = family_with(kOfTable, {{"norm", "dual", "reward", 0.049},
                                             {"base", "norm", "reward", 0.001},
                                             {"base", "dual", "reward", 0.0037}});
  const double shares[] = {1, 0.05, 0.075}, p[] = {0.0037 / 0.075, 0.02, 0.0037 / 0.075};
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_NEAR(family.at(i).share, shares[i], 1e-12) << i;
    EXPECT_NEAR(*family.at(i).p, p[i], 1e-12) << i;
  }
}

TEST(Family, APrimaryQuestionPassesNothingToTheBaseModels) {
  auto questions = questions_of_table(1);
  for (auto& q : questions) {
    if (q.baseline == "norm") q.p_value = 1e-9;
  }
  const auto family = family_with(kOfTable, questions);
  for (std::size_t i = 0; i < questions.size(); ++i) {
    if (questions[i].baseline == "base") {
      EXPECT_DOUBLE_EQ(family.at(i).share, 0.1 / 9);
    } else {
      EXPECT_LT(*family.at(i).p, 0.05);
    }
  }
}

TEST(Family, ShareBeforeAnythingIsResolvedIsWhatThePlanSaysAndDoesNotDependOnP) {
  const auto planned = family_with(kOfTable, questions_of_table(1));
  const auto tested = family_with(kOfTable, questions_of_table(1e-9));
  for (const auto& q : planned.questions()) EXPECT_EQ(planned.first_share(q), tested.first_share(q));
  EXPECT_EQ(planned.first_share({"dual", "guard", "reward", {}}), 0) << "which the table does not ask";
}

TEST(Family, FindsAQuestionWhicheverOfItsRowsIsTheBaseline) {
  auto family = family_with(kOfTable, questions_of_table(0.01));
  const auto found = family.find({"norm", "dual", "reward", {}});
  ASSERT_TRUE(found);
  EXPECT_EQ(family.find({"dual", "norm", "reward", {}})->p, found->p);
  EXPECT_FALSE(family.find({"dual", "guard", "reward", {}}));
  EXPECT_FALSE(family.find({"norm", "dual", "another metric", {}}));
  EXPECT_FALSE(Family().find({"norm", "dual", "reward", {}}));
  family.prefix_rows("3:");
  EXPECT_EQ(family.find({"3:norm", "3:dual", "reward", {}})->p, found->p);
}

TEST(Family, KeepsTheQuestionsOfTablesThatAreJoinedApart) {
  const Family family({{"norm", "dual", "reward", 0.01, "", "ocr"},
                       {"norm", "dual", "reward", 0.02, "", "geneval"},
                       {"norm", "dual", "cer_paper", 0.5, "reward", "ocr"}});
  EXPECT_EQ(family.size(), 2U);
  EXPECT_DOUBLE_EQ(*family.at(0).p, 0.02);
  EXPECT_DOUBLE_EQ(*family.at(1).p, 0.02);
}

/// A comparison over three runs and 30 prompts, whose interval over prompts alone leaves the verdict to that
/// over runs and prompts.
Comparison drawn(const TableQuestion& question, double effect, Normal& normal) {
  const auto pairs = pairs_of(simulated({.run = 0.1, .prompt = 0.7, .residual = 0.7}, effect, 3, 30, normal));
  Comparison c{.metric = question.metric, .baseline = question.baseline, .method = question.method};
  c.values.n = std::ssize(pairs);
  c.values.clusters = 30;
  c.values.seeds = 3;
  c.values.crossed = crossed(pairs);
  c.values.delta = c.values.crossed->delta;
  c.values.ci = Interval{*c.values.delta - 1e-9, *c.values.delta + 1e-9};
  return c;
}

TEST(Family, ADifferenceIsResolvedExactlyWhereItsIntervalAtTheLevelThatTestedItLeavesOutZero) {
  Normal normal(1);
  int resolved = 0, not_resolved = 0, not_tested = 0;
  for (int table = 0; table < 40; ++table) {
    std::vector<Comparison> comparisons;
    for (const auto& question : questions_of_table(1))
      comparisons.push_back(drawn(question, table % 4 * 0.3, normal));
    const auto family = family_with(kOfTable, questions_of(comparisons));
    for (std::size_t i = 0; i < comparisons.size(); ++i) {
      const auto adjusted = family.at(i);
      const auto judgement = judge(comparisons[i].values, Better::kUp, {.adjusted = adjusted});
      EXPECT_EQ(judgement.resolved(), *adjusted.p < 0.05);
      if (adjusted.share == 0) {
        EXPECT_FALSE(judgement.resolved());
        ++not_tested;
        continue;
      }
      const auto tested = interval_at(comparisons[i].values, Claim::kMethods, 0.05 * adjusted.share);
      EXPECT_EQ(judgement.resolved(), tested->excludes_zero()) << *judgement.p << " " << adjusted.share;
      EXPECT_NEAR(judgement.level, judgement.resolved() ? 0.05 * adjusted.share : 0.05, 1e-12);
      if (judgement.resolved()) {
        EXPECT_NEAR(judgement.interval->low, tested->low, 1e-12) << "which stands beside it";
      }
      ++(judgement.resolved() ? resolved : not_resolved);
    }
  }
  for (const int count : {resolved, not_resolved, not_tested}) EXPECT_GT(count, 30);
}

}  // namespace
}  // namespace harness
