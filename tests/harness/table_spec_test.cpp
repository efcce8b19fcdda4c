#include "harness/plan/table_spec.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <functional>

#include "core/error.h"
#include "core/files.h"
#include "harness/plan/settings.h"

namespace harness {
namespace {

using ::testing::HasSubstr;

/// What metrics are is read from the registry; the build's own may not be made yet.
[[maybe_unused]] const int kRegistry =
    ::setenv("HARNESS_PATH", HARNESS_SOURCE_DIR "/tests/data/fake_share", 0);

const std::filesystem::path kShipped = HARNESS_SOURCE_DIR "/harness/tables/sd35-ocr.json";

/// The shipped table with one change, read back; gives the message of the refusal.
std::string refusal(const std::function<void(Json&)>& change) {
  Json document = read_json(kShipped);
  change(document);
  const auto file =
      std::filesystem::path(::testing::TempDir()) / fmt::format("changed-table-{}.json", ::getpid());
  write_file_atomically(file, document.dump());
  try {
    read_table_spec(file);
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), Status::kUsage);
    return error.what();
  }
  return "accepted";
}

// Printed in the paper: 256 validation prompts, checkpoints 40 to 80, RatioNorm as the baseline.
TEST(TableSpec, TheShippedTableIsThePapers) {
  const auto spec = read_table_spec(kShipped);
  EXPECT_EQ(spec.split_seed, 20260501u);
  EXPECT_EQ(spec.split_take, 256);
  EXPECT_EQ(spec.prompts_first - spec.split_take, 762);
  EXPECT_EQ(spec.checkpoints, (std::vector<int>{40, 60, 80}));
  EXPECT_EQ(spec.baseline, "ratio-norm");
  EXPECT_EQ(spec.scale("smoke").validation_limit, 24);
  EXPECT_EQ(spec.scale("paper").prompt_set, "ocr-flow-grpo");
}

TEST(TableSpec, OneWithoutItsHeadIsToldOfExtends) {
  for (const std::string key : {"id", "task", "backbone"}) {
    const auto said = refusal([&](Json& t) { t.erase(key); });
    EXPECT_THAT(said, HasSubstr("\"" + key + "\" is missing"));
    EXPECT_THAT(said, HasSubstr("a table that changes another one also names that one, in \"extends\""));
  }
}

TEST(TableSpec, UnknownKeysAndNamesAreRefusedWhereTheyStand) {
  EXPECT_THAT(refusal([](Json& t) { t["methds"] = 1; }),
              HasSubstr(R"(unknown key "methds"; did you mean "methods"?)"));
  EXPECT_THAT(refusal([](Json& t) { t["split"]["sede"] = 1; }), HasSubstr("split"));
  EXPECT_THAT(refusal([](Json& t) { t["columns"][1]["name"] = "cer_papr"; }), HasSubstr("columns[1]"));
  EXPECT_THAT(refusal([](Json& t) { t["columns"][0]["unit"] = "percnt"; }),
              HasSubstr(R"(did you mean "percent"?)"));
  EXPECT_THAT(refusal([](Json& t) { t["baseline"] = "ratio-nrom"; }),
              HasSubstr(R"(did you mean "ratio-norm"?)"));
  EXPECT_THAT(refusal([](Json& t) { t["scales"]["smoke"]["limits"] = 3; }), HasSubstr("smoke"));
}

TEST(TableSpec, OfAnUnknownColumnOnlyNamesThatAreThereAreProposed) {
  const auto with_column = [](const std::string& name) {
    return refusal([&](Json& t) { t["columns"][0] = {{"name", name}}; });
  };
  EXPECT_THAT(with_column("cer_papr"),
              HasSubstr(R"(columns[0]: name: unknown column "cer_papr"; did you mean "cer_paper"?)"));
  EXPECT_THAT(with_column("lamda_late"), HasSubstr(R"(did you mean "lambda_late"?)"));
  EXPECT_THAT(with_column("OCR reward"), HasSubstr(R"(did you mean "ocr_reward"?)")) << "by its heading";
  EXPECT_THAT(with_column("Exact"), HasSubstr(R"(did you mean "exact_match"?)"));
  EXPECT_THAT(with_column("Share of tau"), HasSubstr(R"(did you mean "tau_share"?)"));
  EXPECT_THAT(with_column("edge_densty"),
              HasSubstr(R"(did you mean "edge_density"? The table does not measure it: name it in)"));
  EXPECT_THAT(with_column("qqqqqq"), HasSubstr("known: ocr_reward, cer, "));
  const auto both_misspelt = refusal([](Json& t) {
    t["metrics"]["optional"] = Json::array({"clip_scor"});
    t["columns"] = Json::array({{{"name", "clip_scr"}}});
  });
  EXPECT_THAT(both_misspelt, HasSubstr(R"(did you mean "clip_score"?)"))
      << "not the other misspelling: " << both_misspelt;
}

TEST(TableSpec, ImpossibleValuesAreRefused) {
  EXPECT_THAT(refusal([](Json& t) { t["checkpoints"] = {40, 40}; }), HasSubstr("must increase"));
  EXPECT_THAT(refusal([](Json& t) { t["checkpoints"] = Json::array(); }), HasSubstr("at least one"));
  EXPECT_THAT(refusal([](Json& t) {
                t["methods"] = {"dual", "dual", "ratio-norm"};
              }),
              HasSubstr("must differ"));
  EXPECT_THAT(refusal([](Json& t) { t["metrics"]["optional"] = Json::array(); }),
              HasSubstr("which is not among the table's metrics"));
  EXPECT_THAT(refusal([](Json& t) {
                t["scales"]["tiny"] = {{"judges", false}};
              }),
              HasSubstr("needs a note that says why"));
  EXPECT_THAT(refusal([](Json& t) { t["split"]["take"] = 1018; }), HasSubstr("both splits"));
  EXPECT_THAT(refusal([](Json& t) { t["selection"]["metric"] = "pickscore"; }),
              HasSubstr("must be a required one"));
}

TEST(TableSpec, ATableMayExtendAnotherAndGiveOnlyWhatItChanges) {
  const auto file = std::filesystem::path(::testing::TempDir()) / fmt::format("extends-{}.json", ::getpid());
  write_file_atomically(file, R"({"extends": "sd35-ocr", "id": "mine", "seeds": [1, 2], "title": null,
                                  "scales": {"smoke": {"limit": {"test": 10}}}})");
  const auto spec = read_table_spec(file), base = read_table_spec(kShipped);
  EXPECT_EQ(spec.id, "mine");
  EXPECT_EQ(spec.title, "mine") << "null takes a value away";
  EXPECT_EQ(spec.seeds, (std::vector<std::int64_t>{1, 2}));
  EXPECT_EQ(spec.methods, base.methods);
  EXPECT_EQ(spec.scale("smoke").test_limit, 10);
  EXPECT_EQ(spec.scale("smoke").validation_limit, base.scale("smoke").validation_limit);
  EXPECT_FALSE(spec.document.contains("extends"));
  write_file_atomically(file, R"({"extends": "sd35-orc", "id": "mine"})");
  EXPECT_THAT([&] { read_table_spec(file); },
              ::testing::Throws<Error>(::testing::Property(&Error::hint, HasSubstr("\"sd35-ocr"))));
}

TEST(TableSpec, SettingsOfATableHoldOverTheBackbonesAndScalesOfTheOneItExtends) {
  const auto file = std::filesystem::path(::testing::TempDir()) / fmt::format("settings-{}.json", ::getpid());
  const auto registry = read_registry(HARNESS_SOURCE_DIR "/tests/data/fake_share/registry.json");
  const auto setting = [&](const char* document, const char* scale, const char* name) {
    write_file_atomically(file, document);
    const auto spec = read_table_spec(file);
    return resolve_settings(registry, spec, "glyph", scale, spec.methods, {}).loop_value(name);
  };
  constexpr auto kOwn = R"({"extends": "sd35-ocr", "id": "mine", "settings": {"lr": 2e-5}})";
  for (const char* scale : {"default", "smoke", "paper"})
    EXPECT_EQ(setting(kOwn, scale, "lr"), 2e-5) << "the extended table sets it for its backbones: " << scale;
  EXPECT_EQ(setting(kOwn, "default", "group_size"),
            setting(R"({"extends": "sd35-ocr", "id": "mine"})", "default", "group_size"));
  EXPECT_EQ(setting(R"({"extends": "sd35-ocr", "id": "mine", "settings": {"lr": 2e-5},
                        "backbones": {"glyph": {"settings": {"lr": 3e-5}}}})",
                    "default", "lr"),
            3e-5);
}

TEST(TableSpec, ATableMayExtendAFileBesideItButNeverItself) {
  const auto folder = std::filesystem::path(::testing::TempDir()) / fmt::format("extending-{}", ::getpid());
  std::filesystem::create_directories(folder / "below");
  write_file_atomically(folder / "a.json", R"({"extends": "sd35-ocr", "id": "a", "seeds": [1]})");
  write_file_atomically(folder / "below/b.json", R"({"extends": "../a.json", "id": "b", "title": "B"})");
  const auto spec = read_table_spec(folder / "below/b.json");
  EXPECT_EQ(spec.id, "b");
  EXPECT_EQ(spec.seeds, std::vector<std::int64_t>{1});
  EXPECT_EQ(spec.methods, read_table_spec(kShipped).methods);
  const auto message = [&](const char* text) {
    write_file_atomically(folder / "a.json", text);
    try {
      read_table_spec(folder / "below/b.json");
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  EXPECT_THAT(message(R"({"extends": "below/b.json", "id": "a"})"), HasSubstr("the table extends itself: "));
  EXPECT_THAT(message(R"({"extends": "./a.json", "id": "a"})"), HasSubstr("a.json; extend another table"));
  EXPECT_THAT(message(R"({"extends": "c.json", "id": "a"})"), HasSubstr("there is no file"));
  EXPECT_THAT(message(R"({"extends": "sd35-ocr", "id": "sd35-ocr"})"), HasSubstr("needs an id of its own"));
  std::filesystem::remove_all(folder);
}

TEST(TableSpec, AStatisticThatNoTrainingStoresIsRefusedBeforeAnythingRuns) {
  const auto with = [](const Json& column) {
    return refusal([&](Json& t) {
      t = {{"extends", "tiny-sd3-zclip"}, {"id", "mine"}, {"columns", {column}}, {"claims", Json::array()}};
    });
  };
  EXPECT_THAT(
      with({{"name", "x"}, {"stat", "lambda_centre"}, {"timestep", 3}}),
      HasSubstr(
          R"(columns[0]: stat: no training stores a statistic "lambda_centre"; did you mean "lambda_center"?)"));
  EXPECT_THAT(with({{"name", "lambda_var"}}), HasSubstr("has a value a timestep; add \"timestep\""));
  EXPECT_THAT(with({{"name", "loss"}, {"timestep", 3}}), HasSubstr("has no timesteps"));
  EXPECT_THAT(with({{"name", "lambda_var"}, {"timestep", -1}}), HasSubstr("count from 0"));
  EXPECT_EQ(with({{"name", "toy_level"}, {"of_method", true}}), "accepted");
  for (const char* recorded : {"damping_undone", "grad_norm_undamped", "samples_left_out", "ema_lag"})
    EXPECT_EQ(with({{"name", recorded}}), "accepted") << recorded;
  auto spec = load_table_spec("tiny-sd3-zclip");
  EXPECT_NO_THROW(check_timesteps(spec, 8));
  EXPECT_THAT([&] { check_timesteps(spec, 7); }, ::testing::Throws<Error>(::testing::Property(
                                                     &Error::problem, HasSubstr("there is no timestep 7"))));
}

/// The JSON blocks of the page that explains tables.
std::vector<std::string> examples_of(const std::string& page) {
  std::vector<std::string> blocks;
  for (std::size_t at = 0; (at = page.find("```json\n", at)) != std::string::npos;) {
    const auto begin = at + 8, end = page.find("```", begin);
    blocks.push_back(page.substr(begin, end - begin));
    at = end + 3;
  }
  return blocks;
}

TEST(TableSpec, TheExamplesOfItsPageAreTables) {
  const auto page = read_file(HARNESS_SOURCE_DIR "/harness/tables/README.md");
  const auto examples = examples_of(page);
  ASSERT_FALSE(examples.empty());
  const auto registry = read_registry(HARNESS_SOURCE_DIR "/tests/data/fake_share/registry.json");
  for (const auto& example : examples) {
    const auto file =
        std::filesystem::path(::testing::TempDir()) / fmt::format("example-{}.json", ::getpid());
    write_file_atomically(file, example);
    const auto spec = read_table_spec(file);
    EXPECT_NO_THROW(check_against_registry(spec, registry));
    EXPECT_EQ(spec.id, "beta-sweep");
    EXPECT_EQ(spec.arm("dual 2").settings.at("beta_max"), 2);
  }
}

/// The shipped PickScore table with a backbone's changes replaced; the message of the refusal.
std::string refused_backbone(const Json& changes) {
  return refusal([&](Json& table) {
    table = {{"extends", "sd35-pickscore"}, {"id", "mine"}, {"backbones", {{"glyph", changes}}}};
  });
}

TEST(TableOfABackbone, PutsAnotherMetricWhereTheTablesOwnStood) {
  const auto whole = load_table_spec("sd35-pickscore");
  EXPECT_EQ(whole.task, "pickscore");
  const auto glyph = for_backbone(whole, "glyph");
  EXPECT_EQ(glyph.task, "glyph-clip");
  EXPECT_EQ(glyph.selection.metric, "glyph_clip");
  EXPECT_EQ(glyph.required_metrics, std::vector<std::string>{"glyph_clip"});
  EXPECT_EQ(glyph.columns[0].name, "glyph_clip");
  EXPECT_EQ(glyph.columns[0].title, "glyph-CLIP score");
  EXPECT_EQ(glyph.columns[0].stands_for, "pickscore");
  EXPECT_EQ(glyph.columns[1].std_of, "glyph_clip");
  EXPECT_EQ(glyph.title.find("PickScore"), std::string::npos) << glyph.title;
  EXPECT_EQ(glyph.document, whole.document) << "what is stored is the table as it was written";
  const auto real = for_backbone(whole, "sd35-medium");
  EXPECT_EQ(real.selection.metric, "pickscore");
  EXPECT_EQ(real.columns[0].stands_for, "");
}

// The paper: saved checkpoints 40, 60, 80; mean PickScore on 256 validation prompts selects.
TEST(TableOfABackbone, ThePickScoreTablesAreThePapers) {
  for (const char* id : {"sd35-pickscore", "sd35-pickscore-val"}) {
    const auto spec = load_table_spec(id);
    EXPECT_EQ(spec.methods, (std::vector<std::string>{"ratio-norm", "lambda-controlled"}));
    EXPECT_EQ(spec.checkpoints, (std::vector<int>{40, 60, 80}));
    EXPECT_EQ(spec.split_seed, 20260501u);
    EXPECT_EQ(spec.split_take, 256);
    EXPECT_EQ(spec.prompts_first, 1018);
    EXPECT_EQ(spec.selection.metric, "pickscore");
    EXPECT_EQ(spec.scale("paper").prompt_set, "pickscore-public");
  }
}

TEST(TableOfABackbone, WhatCannotBeIsRefused) {
  EXPECT_THAT(refused_backbone({{"stands_in", {{"geneval_score", "glyph_clip"}}}}),
              HasSubstr("unknown metric of this table"));
  EXPECT_THAT(refused_backbone({{"stand_in", Json::object()}}), HasSubstr("stand_in"));
  EXPECT_THAT(refusal([](Json& t) {
                t["shows"] = {{"checkpoints", "every"}};
              }),
              HasSubstr("only the selected checkpoint may see the test split"));
  EXPECT_THAT(refusal([](Json& t) { t["grid"] = {{"pick", {"lossses"}}}; }), HasSubstr("losses"));
  EXPECT_THAT(refusal([](Json& t) { t["columns"][0]["std_of"] = "ocr_reward"; }),
              HasSubstr("name of a column of its own"));
}

TEST(TableSpec, IdsSeedsAndCheckpointsThatWouldGoWrongLaterAreRefused) {
  EXPECT_THAT(refusal([](Json& t) { t["id"] = "../elsewhere"; }), HasSubstr("it names a folder"));
  EXPECT_THAT(refusal([](Json& t) { t["id"] = std::string(101, 'a'); }), HasSubstr("100 are the most"));
  EXPECT_EQ(refusal([](Json& t) { t["id"] = std::string(100, 'a'); }), "accepted");
  for (const char* id : {"results.sqlite", "journal.log", "prompts", "text-cache", "0562654bf1b14d57"}) {
    EXPECT_THAT(refusal([id](Json& t) { t["id"] = id; }), HasSubstr("name of something else in a workspace"))
        << id;
  }
  EXPECT_THAT(refusal([](Json& t) { t["seeds"] = {1.5}; }),
              HasSubstr("seeds: must be a list of whole numbers"));
  EXPECT_THAT(refusal([](Json& t) { t["seeds"] = {-1}; }), HasSubstr("seeds are 0 to"));
  EXPECT_THAT(refusal([](Json& t) {
                t["checkpoints"] = {40, 60.5};
              }),
              HasSubstr("checkpoints: must be a list of whole numbers"));
  EXPECT_THAT(refusal([](Json& t) {
                t = {{"extends", "sd35-ocr"}, {"seeds", {1}}};
              }),
              HasSubstr("an id of its own"));
  EXPECT_THAT(refusal([](Json& t) {
                t = {{"extends", "tiny-sd3-zclip"}, {"id", "mine"}, {"methods", {"flow-grpo"}}};
              }),
              HasSubstr("names the row \"lambda-z-clip\", which is not among this table's methods"));
}

TEST(TableSpec, EqualRowsAreRowsOfOneMethod) {
  const Json rows = {"ratio-norm", {{"name", "twin"}, {"method", "ratio-norm"}}, "dual"};
  const auto with = [&](const Json& equal) {
    return refusal([&](Json& t) {
      t = {{"extends", "sd35-ocr"}, {"id", "mine"}, {"reproduces", ""}, {"methods", rows}};
      t["equal_rows"] = equal;
    });
  };
  EXPECT_EQ(with({"ratio-norm", "twin"}), "accepted");
  EXPECT_EQ(with(false), "accepted");
  EXPECT_THAT(with({"ratio-norm", "twim"}),
              HasSubstr(R"(equal_rows: unknown row "twim"; did you mean "twin"?)"));
  EXPECT_THAT(with(true),
              HasSubstr(R"(equal rows are of one method: "ratio-norm" is ratio-norm and "dual" is dual)"));
  EXPECT_THAT(with(Json::array({"twin"})), HasSubstr("equal_rows: needs at least two rows"));
  EXPECT_THAT(with({"twin", "twin"}), HasSubstr("must differ"));
  EXPECT_THAT(with("twin"), HasSubstr("must be true or a list of rows"));
  EXPECT_THAT(refusal([](Json& t) {
                t = {{"extends", "tiny-sd3-zclip"}, {"id", "mine"}, {"equal_rows", true}};
              }),
              HasSubstr("equal_rows: is of evaluation tables"));
}

TEST(TableSpec, EqualRowsAreNotTakenOverByATableWithOtherRows) {
  const auto all = load_table_spec("aa");
  EXPECT_EQ(all.equal_rows, all.methods);
  EXPECT_EQ(load_table_spec("aa-seeds").equal_rows.size(), 2u);
  EXPECT_EQ(load_table_spec("calibration").equal_rows,
            (std::vector<std::string>{"ratio-norm", "negative control"}));
  const auto file = std::filesystem::path(::testing::TempDir()) / fmt::format("equal-{}.json", ::getpid());
  write_file_atomically(file, R"({"extends": "aa", "id": "mine", "seeds": [1]})");
  EXPECT_EQ(read_table_spec(file).equal_rows, all.methods);
  write_file_atomically(file, R"({"extends": "aa", "id": "mine", "methods": ["ratio-norm", "dual"]})");
  EXPECT_TRUE(read_table_spec(file).equal_rows.empty());
}

TEST(TableSpec, AnUnknownMethodIsNamedWithTheNearestOfTheRegistry) {
  const auto registry = read_registry(HARNESS_SOURCE_DIR "/tests/data/fake_share/registry.json");
  auto spec = read_table_spec(kShipped);
  spec.methods[1] = "duel";
  EXPECT_THAT([&] { check_against_registry(spec, registry); },
              ::testing::Throws<Error>(::testing::Property(&Error::hint, R"(did you mean "dual"?)")));
}

}  // namespace
}  // namespace harness
