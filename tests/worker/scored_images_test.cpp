#include "worker/scored_images.h"

#include <gtest/gtest.h>

#include <set>

#include "core/event_log.h"
#include "evaluators/ocr.h"
#include "tests/refusals.h"

namespace harness {
namespace {

Json sample(int position, const std::string& reason = "") {
  Json event = {{"type", "sample"}, {"position", position}, {"reasons", Json::object()}};
  if (!reason.empty()) event["reasons"]["ocr_reward"] = reason;
  return event;
}

/// What a log of these events says.
ScoredImages read_back(const std::vector<Json>& events) {
  const TemporaryFolder folder;
  const auto log = folder.path() / "events.log";
  {
    EventLogWriter writer(log);
    for (const auto& event : events) writer.append(event);
  }
  return scored_images(log);
}

std::set<int> positions(const ScoredImages& images) {
  std::set<int> positions;
  for (const auto& [position, _] : images.scorers) positions.insert(position);
  return positions;
}

const Json kCompleted = {{"type", "job_completed"}};

TEST(ScoredImages, AFailedScoreIsNotTriedTwiceInOneEvaluation) {
  const auto images = read_back({sample(3), sample(4, "the deadline of 20 s passed")});
  EXPECT_FALSE(images.again);
  EXPECT_EQ(positions(images), (std::set<int>{3, 4}));
}

TEST(ScoredImages, OfACompletedEvaluationThatIsStartedAgainOnlyFailuresAreScored) {
  const auto images = read_back(
      {sample(3), sample(4, "the deadline of 20 s passed"), sample(5, kNoTargetReason), kCompleted});
  EXPECT_TRUE(images.again);
  EXPECT_EQ(positions(images), (std::set<int>{3, 5}));
}

TEST(ScoredImages, KilledWhileItScoresAgainItGoesOnWithTheFailuresThatAreLeft) {
  const auto images = read_back({sample(3, "no memory"), sample(4, "no memory"), kCompleted, sample(3)});
  EXPECT_TRUE(images.again);
  EXPECT_EQ(positions(images), (std::set<int>{3}));
}

}  // namespace
}  // namespace harness
