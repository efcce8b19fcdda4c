#include "harness/plan/settings.h"

#include <gmock/gmock.h>

#include "core/error.h"
#include "core/text.h"
#include "harness/spec/registry.h"
#include "harness/spec/table_spec.h"

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
  EXPECT_EQ(resolve({}).loop.at("trained_steps").origin, "default");
  EXPECT_EQ(resolve({}).loop.at("group_size").origin, "backbone glyph");
  EXPECT_EQ(resolve({}, "smoke").loop.at("prompts_per_epoch").origin, "scale smoke");
  const auto settings = resolve({"prompts_per_epoch=3"}, "smoke");
  EXPECT_EQ(settings.loop.at("prompts_per_epoch").origin, "--set");
  EXPECT_EQ(settings.loop.at("prompts_per_epoch").effective, 3);
}

TEST(Settings, WhatTheCommandSetsGoesOverWhatARowOfTheTableSets) {
  auto document = spec().document;
  document["methods"] = Json::array({{{"name", "mine"}, {"method", "dual"}, {"settings", {{"lr", 1e-3}}}},
                                     {{"name", "ratio-norm"}, {"method", "ratio-norm"}}});
  document["baseline"] = "ratio-norm";
  const auto table = parse_table_spec(std::move(document), spec().file);
  const auto lr = [&](const std::vector<std::string>& sets, const char* row) {
    return resolve_settings(registry(), table, "glyph", "default", table.methods, sets)
        .effective_loop(registry(), "train", row)
        .at("lr")
        .get<double>();
  };
  EXPECT_EQ(lr({}, "mine"), 1e-3);
  EXPECT_EQ(lr({"lr=7e-5"}, "mine"), 7e-5);
  EXPECT_EQ(lr({"lr=7e-5"}, "ratio-norm"), 7e-5);
  EXPECT_EQ(lr({"lr=7e-5", "mine.lr=8e-5"}, "mine"), 8e-5);
  EXPECT_EQ(lr({"mine.lr=8e-5", "lr=7e-5"}, "mine"), 7e-5) << "the later one";
}

TEST(Settings, RequestedHoldsOnlyWhatWasAskedFor) {
  const auto settings = resolve({"lambda-controlled.kappa=1"});
  EXPECT_EQ(settings.requested().at("lambda-controlled.kappa"), 1);
  EXPECT_FALSE(settings.requested().contains("trained_steps"));
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
  later.settings.push_back(
      {.name = "repeats", .default_value = 1, .help = "of a later build", .silent_default = true});
  const Setting damp{.name = "damp",
                     .default_value = "per-step",
                     .choices = {"per-step", "after-clip"},
                     .help = "of a later build",
                     .silent_default = true};
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

// Read in the public code: general_ocr_sd3_1gpu, and general_ocr_sd3_rationorm and
// pickscore_hps_sd3_ratio_norm of GRPO-Guard. Its loop drops groups of equal rewards, and calls the average
// after each of 4 micro-batches.
TEST(Settings, TheScalesPaperAreThePublicConfigurations) {
  for (const char* id : {"sd35-ocr", "sd35-pickscore"}) {
    const auto table = for_backbone(load_table_spec(id), "sd35-medium");
    const auto loop_of = [&](const char* scale) {
      return resolve_settings(registry(), table, "sd35-medium", scale, table.methods, {})
          .effective_loop(registry(), "train");
    };
    const Json both = {{"zero_std_groups", "drop"}, {"ema_repeats", 4},  {"ema_interval", 8},
                       {"updates_per_epoch", 2},    {"inner_epochs", 1}, {"trained_steps", 9}};
    const std::vector<std::pair<const char*, Json>> of_scale = {
        {"paper", {{"advantage_std", "global"}, {"lr", 3e-4}, {"prompts_per_epoch", 8}, {"group_size", 8}}},
        {"paper-guard", {{"lr", 1e-4}, {"prompts_per_epoch", 48}, {"group_size", 24}}}};
    for (const auto& [scale, own] : of_scale) {
      auto expected = loop_of(scale);
      expected.update(both);
      expected.update(own);
      EXPECT_EQ(loop_of(scale), expected) << id << ", " << scale;
    }
    EXPECT_FALSE(loop_of("paper-guard").contains("advantage_std"))
        << id << ": the group's, which is the default";
    const auto smoke = loop_of("smoke");
    EXPECT_FALSE(smoke.contains("advantage_std") || smoke.contains("ema_repeats")) << id;
  }
}

TEST(Settings, TheScalesPaperSayWhatStillDiffersFromThePublicCode) {
  for (const char* id : {"sd35-ocr", "sd35-pickscore"}) {
    const auto table = load_table_spec(id);
    for (const char* scale : {"paper", "paper-guard"}) {
      const auto note = table.scale(scale).note + " " + join(table.scale(scale).notes, " ");
      EXPECT_THAT(note, HasSubstr("no KL term")) << id;
      EXPECT_THAT(note, HasSubstr("precision")) << id;
      EXPECT_EQ(note.find("PaddleOCR") != std::string::npos, table.task == "ocr") << id;
      const bool has_public_prompts = table.scale(scale).train_prompt_set.has_value();
      EXPECT_EQ(note.find("--train-prompts") == std::string::npos, has_public_prompts) << id;
    }
  }
}

TEST(Settings, WrongOnesAreRefusedWithTheNearestName) {
  expect_refusal("daul.beta_max=4", R"(did you mean "dual"?)");
  expect_refusal("flow-grpo.clip_rule=public", "is not one of this run's");
  expect_refusal("group_size=1", "setting group_size must be a whole number between 2 and 1000000, not 1");
  expect_refusal("group_size=four",
                 "setting group_size must be a whole number between 2 and 1000000, not \"four\"");
  expect_refusal("dual.beta_max=much", "setting beta_max must be a number of at least 0, not \"much\"");
  expect_refusal("clip_rule=publc", R"(did you mean "public"?)");
  expect_refusal("group_size", "is not NAME=VALUE");
  expect_refusal("guidance_scale=4", R"(did you mean "guidance" or "eval_guidance"?)");
  expect_refusal("dual.beta=4", R"(did you mean "beta_max"?)");
}

}  // namespace
}  // namespace harness
