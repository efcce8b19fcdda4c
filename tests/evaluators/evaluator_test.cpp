#include "evaluators/evaluator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "core/error.h"
#include "evaluators/ocr.h"

namespace harness {
namespace {

using testing::ElementsAre;

bool gives(const Evaluator& evaluator, const std::string& metric) {
  return std::ranges::count(evaluator.metrics, metric, &MetricInfo::name) > 0;
}

const Image kGrey{2, 2, std::vector<std::uint8_t>(12, 128)};

TEST(Evaluators, StandInTheOrderThatListsAndGuardrailsHaveAndNewOnesComeAfter) {
  std::vector<std::string> names;
  for (const auto& evaluator : evaluators()) names.push_back(evaluator.name);
  ASSERT_GE(names.size(), 4U);
  names.resize(4);
  EXPECT_THAT(names, ElementsAre("ocr-glyph", "ocr-scene", "jpeg", "image-statistics"));
}

TEST(Evaluators, GiveTheMetricsThatTheyDeclareAndNoOther) {
  for (const auto& evaluator : evaluators()) {
    const auto score =
        evaluator.score
            ? evaluator.score({"a sign", "OPEN"}, kGrey)
            : ocr_score("OPEN", {.transcript_raw = "OPEN", .confidence = {}, .values = {}, .error = {}});
    EXPECT_EQ(score.metrics.size(), evaluator.metrics.size()) << evaluator.name;
    for (const auto& [metric, _] : score.metrics) EXPECT_TRUE(gives(evaluator, metric)) << metric;
  }
}

TEST(Evaluators, RewardAndRestateMetricsOfTheirOwn) {
  for (const auto& evaluator : evaluators()) {
    for (const auto& task : evaluator.tasks) EXPECT_TRUE(gives(evaluator, task.metric)) << task.name;
    for (const auto& metric : evaluator.metrics) {
      EXPECT_TRUE(metric.restates.empty() || gives(evaluator, metric.restates)) << metric.name;
    }
  }
}

TEST(Evaluators, AnErrorOrAPromptWithoutTheTargetThatIsNeededIsAReasonAndNoScore) {
  Evaluator evaluator{
      .name = "toy",
      .summary = {},
      .metrics = {{.name = "level", .title = "Level"}},
      .needs_target = true,
      .score = [](const ScorerText&, const Image&) -> SampleScore { throw Error("is dark", "image"); }};
  const auto scorer =
      open_scorer(evaluator, {.name = "toy", .identity = {{"name", "toy"}, {"version", "1"}}, .path = {}});
  EXPECT_EQ(scorer->score({"a sign", "OPEN"}, kGrey).get().reasons.at("level"), "image: is dark");
  EXPECT_EQ(scorer->score({"a sign", ""}, kGrey).get().reasons.at("level"), kNoTargetReason);
  EXPECT_EQ(scorer->score({"a sign", ""}, kGrey).get().metrics.at("level"), std::nullopt);
  evaluator.version = "2";
  EXPECT_THROW(
      open_scorer(evaluator, {.name = "toy", .identity = {{"name", "toy"}, {"version", "1"}}, .path = {}}),
      Error);
}

TEST(TaskReward, IsAFunctionOfOneMetricAndNothingWhereThatHasNoValue) {
  SampleScore score;
  score.metrics = {{"ocr_reward", 0.5}, {"jpeg_kb", 10}, {"level", 3}, {"missing", std::nullopt}};
  EXPECT_EQ(task_reward("ocr", score), 0.5);
  EXPECT_EQ(task_reward("compressibility", score), -10.0 / 500);
  EXPECT_EQ(task_reward("maximize:level", score), 3);
  EXPECT_EQ(task_reward("minimize:level", score), -3);
  EXPECT_EQ(task_reward("minimize:missing", score), std::nullopt);
  EXPECT_THROW(task_reward("ocrr", score), Error);
}

}  // namespace
}  // namespace harness
