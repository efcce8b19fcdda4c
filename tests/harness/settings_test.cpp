#include "harness/settings.h"

#include <gmock/gmock.h>

#include "core/error.h"
#include "harness/registry.h"
#include "harness/table_spec.h"

namespace harness {
namespace {

using ::testing::HasSubstr;

const Registry& registry() {
  static const Registry loaded = read_registry(HARNESS_SOURCE_DIR "/tests/data/fake_share/registry.json");
  return loaded;
}

const TableSpec& spec() {
  static const TableSpec loaded = read_table_spec(HARNESS_SOURCE_DIR "/harness/tables/sd35-ocr.json");
  return loaded;
}

ResolvedSettings resolve(const std::vector<std::string>& sets, const std::string& scale = "default") {
  return resolve_settings(registry(), spec(), "glyph", scale, spec().methods, sets);
}

void expect_refusal(const std::string& set, const std::string& text) {
  try {
    resolve({set});
    ADD_FAILURE() << set << " was accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), Status::kUsage);
    EXPECT_THAT(error.what(), HasSubstr(text));
  }
}

TEST(Settings, LaterLayersWinAndSayWhoTheyAre) {
  EXPECT_EQ(resolve({}).loop.at("updates_per_epoch").origin, "default");
  EXPECT_EQ(resolve({}).loop.at("group_size").origin, "backbone glyph");
  EXPECT_EQ(resolve({}, "smoke").loop.at("prompts_per_epoch").origin, "scale smoke");
  const auto settings = resolve({"prompts_per_epoch=3"}, "smoke");
  EXPECT_EQ(settings.loop.at("prompts_per_epoch").origin, "--set");
  EXPECT_EQ(settings.loop.at("prompts_per_epoch").effective, 3);
}

TEST(Settings, RequestedHoldsOnlyWhatWasAskedFor) {
  const auto settings = resolve({"lambda-controlled.kappa=1"});
  EXPECT_EQ(settings.requested().at("lambda-controlled.kappa"), 1);
  EXPECT_FALSE(settings.requested().contains("updates_per_epoch"));
}

TEST(Settings, AWholeNumberForANumberIsTheSameRun) {
  EXPECT_EQ(canonical_json(resolve({"guidance=1"}).effective_loop(registry(), "train")),
            canonical_json(resolve({"guidance=1.0"}).effective_loop(registry(), "train")));
}

TEST(Settings, ABareNameReachesEveryMethodThatHasIt) {
  const auto settings = resolve({"clip_rule=one-sigma"});
  EXPECT_EQ(settings.methods.at("ratio-norm").at("clip_rule").effective, "one-sigma");
  EXPECT_FALSE(settings.methods.at("dual").contains("clip_rule"));
}

TEST(Settings, TrainingAndEvaluationSeeOnlyTheirOwn) {
  const auto settings = resolve({});
  const auto train = settings.effective_loop(registry(), "train"),
             evaluate = settings.effective_loop(registry(), "evaluate");
  EXPECT_TRUE(train.contains("lr") && !evaluate.contains("lr"));
  EXPECT_TRUE(evaluate.contains("eval_weights") && !train.contains("eval_weights"));
  EXPECT_TRUE(train.contains("shift") && evaluate.contains("shift"));
}

TEST(Settings, WrongOnesAreRefusedWithTheNearestName) {
  expect_refusal("group_sise=4", R"(did you mean "group_size"?)");
  expect_refusal("dual.beta_mx=4", R"(did you mean "beta_max"?)");
  expect_refusal("daul.beta_max=4", R"(did you mean "dual"?)");
  expect_refusal("flow-grpo.clip_rule=public", "is not one of this run's");
  expect_refusal("group_size=1", "outside [2, infinity]");
  expect_refusal("group_size=four", "must be a whole number");
  expect_refusal("clip_rule=publc", R"(did you mean "public"?)");
  expect_refusal("group_size", "is not NAME=VALUE");
}

}  // namespace
}  // namespace harness
