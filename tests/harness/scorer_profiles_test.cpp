#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"
#include "harness/plan/registry.h"
#include "harness/plan/scorers.h"

namespace harness {
namespace {

/// Two profiles of the OCR evaluator, each for one backbone, and one evaluator for all.
Registry two_profiles() {
  const auto profile = [](const std::string& name, const std::string& backbone) {
    return EvaluatorInfo{
        .name = name,
        .summary = {},
        .metrics = {MetricInfo{.name = "ocr_reward", .title = {}}, MetricInfo{.name = "cer", .title = {}}},
        .identity = {{"name", name}},
        .backbones = {backbone}};
  };
  Registry registry;
  registry.evaluators = {profile("ocr-glyph", "glyph"),
                         profile("ocr-scene", "sd35-medium"),
                         {.name = "jpeg",
                          .summary = {},
                          .metrics = {MetricInfo{.name = "jpeg_kb", .title = {}}},
                          .identity = {{"name", "jpeg"}}}};
  registry.tasks = {{.name = "ocr", .summary = {}, .evaluator = "ocr-glyph"}};
  return registry;
}

TEST(ScorersOfABackbone, FollowFromTheBackboneWhoseImagesTheyScore) {
  const Registry registry = two_profiles();
  EXPECT_EQ(
      scorer_identities(registry, ScorerFolders(registry, {}), {"ocr_reward", "cer", "jpeg_kb"}, "glyph"),
      Json::parse(R"({"ocr-glyph": {"name": "ocr-glyph"}, "jpeg": {"name": "jpeg"}})"));
  EXPECT_EQ(scorer_identities(registry, ScorerFolders(registry, {}), {"ocr_reward", "cer", "jpeg_kb"},
                              "sd35-medium"),
            Json::parse(R"({"ocr-scene": {"name": "ocr-scene"}, "jpeg": {"name": "jpeg"}})"));
}

TEST(ScorersOfABackbone, ThatOfATrainingRewardFollowsFromTheBackboneToo) {
  const Registry registry = two_profiles();
  EXPECT_TRUE(reward_identities(registry, ScorerFolders(registry, {}), "ocr", "glyph").contains("ocr-glyph"));
  EXPECT_TRUE(
      reward_identities(registry, ScorerFolders(registry, {}), "ocr", "sd35-medium").contains("ocr-scene"));
}

TEST(ScorersOfABackbone, ABackboneThatNoneIsForIsNamed) {
  try {
    reward_identities(two_profiles(), ScorerFolders(two_profiles(), {}), "ocr", "flux");
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(),
                testing::HasSubstr("backbone flux: no evaluator of this build gives ocr_reward"));
  }
}

}  // namespace
}  // namespace harness
