#include "harness/plan/selection.h"

#include <gtest/gtest.h>

#include "evaluators/ocr.h"

namespace harness {
namespace {

using Scores = std::vector<std::optional<double>>;

/// A checkpoint with one score a prompt, from position 0.
Candidate checkpoint(std::int64_t step, const Scores& scores) {
  Candidate candidate{.step = step, .evaluation = "e" + std::to_string(step), .scores = {}};
  for (std::size_t i = 0; i < scores.size(); ++i) {
    candidate.scores.push_back({.position = static_cast<std::int64_t>(i), .value = scores[i]});
    if (!scores[i]) candidate.scores.back().reason = "the scorer failed";
  }
  return candidate;
}

/// `count` scores of 0.5, then `rest`.
Scores with(std::size_t count, const Scores& rest) {
  Scores scores(count, 0.5);
  scores.insert(scores.end(), rest.begin(), rest.end());
  return scores;
}

TEST(Selection, TakesTheHighestMeanAndOfEqualOnesTheEarlier) {
  const std::vector<Candidate> candidates = {checkpoint(20, {0.2, 0.4}), checkpoint(40, {0.3, 0.7}),
                                             checkpoint(60, {0.7, 0.3})};
  const auto choice = choose_checkpoint(candidates);
  EXPECT_EQ(choice.step, 40);
  EXPECT_EQ(choice.evaluation, "e40");
  EXPECT_EQ(choice.mean, 0.5);
  EXPECT_EQ(choice.left_out, 0);
}

TEST(Selection, ComparesCheckpointsOnThePromptsThatAllOfThemHaveAScoreFor) {
  // 40 is better on every prompt that both have; the mean of what 20 has leaves out its worst prompt.
  const std::vector<Candidate> candidates = {checkpoint(20, with(19, {std::nullopt})),
                                             checkpoint(40, with(18, {0.6, 0.0}))};
  EXPECT_EQ(choose_by_scores_there(candidates).step, 20);
  const auto choice = choose_checkpoint(candidates);
  EXPECT_EQ(choice.step, 40);
  EXPECT_DOUBLE_EQ(*choice.mean, (18 * 0.5 + 0.6) / 19) << "the mean that decided";
  EXPECT_FALSE(choice.lacks_too_many()) << "1 of 20 is 5 %";
}

TEST(Selection, CountsWhatIsMissingOverAllCheckpointsTogether) {
  const std::vector<Candidate> candidates = {checkpoint(20, with(18, {std::nullopt, 0.5})),
                                             checkpoint(40, with(18, {0.5, std::nullopt})),
                                             checkpoint(60, with(20, {}))};
  const auto choice = choose_checkpoint(candidates);
  EXPECT_EQ(choice.left_out, 2);
  EXPECT_TRUE(choice.lacks_too_many());
  EXPECT_EQ(
      missing_text(choice, "ocr_reward"),
      "2 of 20 prompts (10.0 %) have no ocr_reward at some checkpoint (checkpoint 20: 1, checkpoint 40: "
      "1)");
}

TEST(Selection, APromptThatQuotesNoTextIsNotMissing) {
  auto first = checkpoint(20, {0.5, std::nullopt}), second = checkpoint(40, {0.6, std::nullopt});
  for (auto* candidate : {&first, &second}) candidate->scores[1].reason = kNoTargetReason;
  const auto choice = choose_checkpoint(std::vector{first, second});
  EXPECT_EQ(choice.step, 40);
  EXPECT_EQ(choice.images, 1);
  EXPECT_EQ(choice.left_out, 0);
}

TEST(Selection, ANumberBeyondAllScoresIsNone) {
  const std::vector<Candidate> candidates = {checkpoint(20, with(30, {1e200})),
                                             checkpoint(40, with(30, {0.9}))};
  const auto choice = choose_checkpoint(candidates);
  EXPECT_EQ(choice.step, 20) << "equal on the others";
  EXPECT_EQ(choice.left_out, 1);
}

TEST(Selection, CutsEveryRunAtTheEvaluationsThatAllOfThemReached) {
  const auto run = [](const std::vector<double>& spent) {
    BudgetsOfRun budgets;
    for (std::size_t i = 0; i < spent.size(); ++i)
      budgets.push_back({.checkpoint = static_cast<std::int64_t>(10 * (i + 1)), .nfe_total = spent[i]});
    return budgets;
  };
  const auto dear = run({100, 200, 300}), cheap = run({40, 80, 120});
  EXPECT_EQ(equal_evaluations({dear, cheap}), 120);
  EXPECT_EQ(steps_within(dear, 120), std::vector<int>{10});
  EXPECT_EQ(steps_within(cheap, 120), (std::vector<int>{10, 20, 30}));
  EXPECT_EQ(steps_within(dear, 90), std::vector<int>{});
  EXPECT_EQ(equal_evaluations({}), std::nullopt);
  EXPECT_EQ(equal_evaluations({dear, {{.checkpoint = 10}}}), std::nullopt) << "one run does not say";
}

}  // namespace
}  // namespace harness
