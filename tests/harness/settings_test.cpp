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

/// The registry with a loop and a method setting that came after runs had been recorded.
Registry later_registry() {
  auto later = registry();
  SettingSpec repeats;
  repeats.name = "repeats";
  repeats.default_value = 1;
  repeats.used_by = "train";
  repeats.silent_default = true;
  later.settings.push_back(repeats);
  SettingSpec damp;
  damp.name = "damp";
  damp.default_value = "per-step";
  damp.choices = {"per-step", "after-clip"};
  damp.silent_default = true;
  for (auto& method : later.methods) {
    if (method.name == "lambda-controlled") method.settings.push_back(damp);
  }
  return later;
}

TEST(Settings, ASettingThatCameLaterIsNoPartOfAnIdentityUntilItIsSet) {
  const auto later = later_registry();
  const auto resolve_later = [&](const std::vector<std::string>& sets) {
    return resolve_settings(later, spec(), "glyph", "default", spec().methods, sets);
  };
  const auto before = resolve({});
  for (const auto& sets : std::vector<std::vector<std::string>>{
           {}, {"repeats=1", "damp=per-step"}, {"dual.repeats=1", "lambda-controlled.damp=per-step"}}) {
    const auto now = resolve_later(sets);
    for (const auto& row : spec().methods) {
      EXPECT_EQ(canonical_json(now.effective_loop(later, "train", row)),
                canonical_json(before.effective_loop(registry(), "train", row)));
      EXPECT_EQ(canonical_json(now.effective_method(row)), canonical_json(before.effective_method(row)));
    }
    EXPECT_EQ(now.loop.at("repeats").effective, 1) << "what is in effect is known all the same";
  }
  const auto set = resolve_later({"repeats=4", "dual.repeats=1", "damp=after-clip"});
  EXPECT_EQ(set.effective_loop(later, "train", "ratio-norm").at("repeats"), 4);
  EXPECT_FALSE(set.effective_loop(later, "train", "dual").contains("repeats"));
  EXPECT_EQ(set.effective_method("lambda-controlled").at("damp"), "after-clip");
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
