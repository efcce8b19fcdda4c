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

TEST(Selection, CutsARowAndTheBaselineAtTheEvaluationsThatBothReached) {
  const auto run = [](const std::vector<double>& spent) {
    BudgetsOfRun budgets;
    for (std::size_t i = 0; i < spent.size(); ++i)
      budgets.push_back({.checkpoint = static_cast<std::int64_t>(10 * (i + 1)), .nfe_total = spent[i]});
    return budgets;
  };
  const std::map<std::string, BudgetsOfRow> rows = {
      {"baseline", {{"b1", run({100, 200, 300})}, {"b2", run({100, 210, 310})}}},
      {"cheap", {{"c1", run({40, 80, 120})}, {"c2", run({40, 80, 105})}}},
      {"dear", {{"d1", run({290, 580, 870})}}},
      {"cheapest", {{"e1", run({1, 2, 3})}}},
      {"silent", {{"s1", {{.checkpoint = 10}}}}}};
  const auto cuts = equal_cuts(rows, "baseline");
  using Steps = std::map<std::string, std::vector<int>>;
  ASSERT_EQ(cuts.size(), 3U) << "none of the baseline, and of a row that does not say what it spent";
  EXPECT_EQ(cuts.at("cheap").nfe_total, 105) << "by the run that spent least";
  EXPECT_EQ(cuts.at("cheap").steps,
            (Steps{{"b1", {10}}, {"b2", {10}}, {"c1", {10, 20}}, {"c2", {10, 20, 30}}}));
  EXPECT_EQ(cuts.at("dear").nfe_total, 300);
  EXPECT_EQ(cuts.at("dear").steps, (Steps{{"b1", {10, 20, 30}}, {"b2", {10, 20}}, {"d1", {10}}}));
  EXPECT_TRUE(cuts.at("dear").is_complete());
  EXPECT_FALSE(cuts.at("cheapest").is_complete()) << "the baseline had spent more at its first checkpoint";
  EXPECT_TRUE(equal_cuts(rows, "silent").empty());
  EXPECT_TRUE(equal_cuts(rows, "unknown").empty());
}

}  // namespace
}  // namespace harness
