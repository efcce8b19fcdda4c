#include "evaluators/ocr.h"

#include <gtest/gtest.h>

namespace harness {
namespace {

ScorerAnswer reading(std::string text) {
  ScorerAnswer answer;
  answer.transcript_raw = std::move(text);
  return answer;
}

TEST(SampleScore, JoinsTheLinesOfATranscriptBeforeItCompares) {
  const auto score = ocr_score("Spring Collection 2024", reading("Spring\nCollection\n\t2024\n\n"));
  EXPECT_EQ(score.transcript, "Spring Collection 2024");
  EXPECT_EQ(score.transcript_raw, "Spring\nCollection\n\t2024\n\n");
  EXPECT_EQ(score.metrics.at("exact_match"), 1.0);
  EXPECT_EQ(score.metrics.at("ocr_reward"), 1.0);
  EXPECT_TRUE(score.reasons.empty());
}

TEST(SampleScore, GivesEveryMetricAValueOrAReason) {
  ScorerAnswer broken;
  broken.error = "no answer within 10 ms";
  const auto failed = ocr_score("Open", broken), read = ocr_score("Open", reading("Opem"));
  EXPECT_EQ(failed.metrics.size(), ocr_metric_names().size());
  for (const auto& name : ocr_metric_names()) {
    EXPECT_FALSE(failed.metrics.at(name).has_value());
    EXPECT_EQ(failed.reasons.at(name), "no answer within 10 ms");
    EXPECT_TRUE(read.metrics.at(name).has_value());
  }
  EXPECT_FALSE(failed.transcript.has_value());
}

TEST(SampleScore, AnEmptyReadingIsARewardOfZeroAndNoFailure) {
  const auto score = ocr_score("Open", reading(" \n"));
  EXPECT_EQ(score.transcript, "");
  EXPECT_EQ(score.metrics.at("ocr_reward"), 0.0);
  EXPECT_EQ(score.metrics.at("cer"), 1.0);
}

TEST(SampleScore, SaysWhyAnAnswerIsOfNoUse) {
  ScorerAnswer values;
  values.values["pickscore"] = 0.2;
  EXPECT_EQ(ocr_score("Open", values).reasons.at("cer"), "the scorer's answer holds no transcript");
  EXPECT_EQ(ocr_score("Open", reading("\xff")).reasons.at("cer"), "the scorer's transcript is not UTF-8");
}

}  // namespace
}  // namespace harness
