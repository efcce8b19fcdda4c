#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"
#include "harness/plan/scorers.h"
#include "harness/spec/registry.h"

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

TEST(ScorersOfABackbone, FollowFromTheBackboneWhoseImagesTheyScoreThatOfATrainingRewardToo) {
  const Registry registry = two_profiles();
  const ScorerFolders folders(registry, {});
  for (const auto& [backbone, scorer] :
       std::map<std::string, std::string>{{"glyph", "ocr-glyph"}, {"sd35-medium", "ocr-scene"}}) {
    EXPECT_EQ(scorer_identities(registry, folders, {"ocr_reward", "cer", "jpeg_kb"}, backbone),
              (Json{{scorer, {{"name", scorer}}}, {"jpeg", {{"name", "jpeg"}}}}));
    EXPECT_TRUE(reward_identities(registry, folders, "ocr", backbone).contains(scorer));
  }
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
