#include "harness/spec/table_spec.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <tuple>

#include "core/error.h"
#include "core/files.h"
#include "harness/plan/settings.h"
#include "harness/spec/external_scorers.h"

namespace harness {
namespace {

using ::testing::HasSubstr;

/// What metrics are is read from the registry; the build's own may not be made yet.
[[maybe_unused]] const int kRegistry =
    ::setenv("HARNESS_PATH", HARNESS_SOURCE_DIR "/tests/data/fake_share", 0);

const std::filesystem::path kShipped = HARNESS_SOURCE_DIR "/harness/tables/sd35-ocr.json";

std::filesystem::path temporary(const std::string& name) {
  return std::filesystem::path(::testing::TempDir()) / fmt::format("{}-{}", ::getpid(), name);
}

TableSpec spec_of(const std::string& document) {
  const auto file = temporary("table.json");
  write_file_atomically(file, document);
  return read_table_spec(file);
}

const Registry& registry() {
  static const Registry loaded = read_registry(HARNESS_SOURCE_DIR "/tests/data/fake_share/registry.json");
  return loaded;
}

/// What is said of a table; "accepted" of one without a fault.
std::string said_of(const Json& document) {
  try {
    spec_of(document.dump());
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), Status::kUsage);
    return error.what();
  }
  return "accepted";
}

/// A change of the shipped table, and part of what is said of it.
struct Change {
  std::string at;  ///< JSON pointer; empty: the whole table
  Json value;
  std::string said;
};

void expect_said(const std::vector<Change>& changes) {
  for (const auto& [at, value, said] : changes) {
    Json document = read_json(kShipped);
    document[Json::json_pointer(at)] = value;
    EXPECT_THAT(said_of(document), HasSubstr(said)) << at << " = " << value.dump();
  }
}

/// A table that extends another with these changes.
Json mine(const char* extended, Json changes) {
  changes.update({{"extends", extended}, {"id", "mine"}});
  return changes;
}

// Printed in the paper: 256 validation prompts, checkpoints 40 to 80, RatioNorm as the baseline.
TEST(TableSpec, TheShippedTableIsThePapers) {
  const auto spec = read_table_spec(kShipped);
  EXPECT_EQ(spec.split.seed, 20260501u);
  EXPECT_EQ(spec.split.take, 256);
  EXPECT_EQ(spec.prompts_first - spec.split.take, 762);
  EXPECT_EQ(spec.checkpoints, (std::vector<int>{40, 60, 80}));
  EXPECT_EQ(spec.baseline, "ratio-norm");
  EXPECT_EQ(spec.scale("smoke").validation_limit, 24);
  EXPECT_EQ(spec.scale("paper").prompt_set, "ocr-flow-grpo");
}

TEST(TableSpec, OneWithoutItsHeadIsToldOfExtends) {
  for (const std::string key : {"id", "task", "backbone"}) {
    Json document = read_json(kShipped);
    document.erase(key);
    const auto said = said_of(document);
    EXPECT_THAT(said, HasSubstr("\"" + key + "\" is missing"));
    EXPECT_THAT(said, HasSubstr("a table that changes another one also names that one, in \"extends\""));
  }
}

TEST(TableSpec, WhatIsWrongIsRefusedWhereItStandsWithTheNearestName) {
  expect_said({
      {"/methds", 1, R"(unknown key "methds"; did you mean "methods"?)"},
      {"/split/sede", 1, "split"},
      {"/columns/0/unit", "percnt", R"(did you mean "percent"?)"},
      {"/columns/0/std_of", "ocr_reward", "name of a column of its own"},
      {"/baseline", "ratio-nrom", R"(did you mean "ratio-norm"?)"},
      {"/scales/smoke/limits", 3, "smoke"},
      {"/scales/tiny", {{"judges", false}}, "needs a note with the reason"},
      {"/checkpoints", {40, 40}, "must increase"},
      {"/checkpoints", Json::array(), "at least one"},
      {"/checkpoints", {40, 60.5}, "checkpoints: must be a list of whole numbers"},
      {"/methods", {"dual", "dual", "ratio-norm"}, "must differ"},
      {"/metrics/optional", Json::array(), "which is not among the table's metrics"},
      {"/split/take", 1018, "both splits"},
      {"/selection/metric", "pickscore", "must be a required one"},
      {"/metrics/required",
       {"ocr_rewad"},
       R"(metrics.required[0]: unknown metric "ocr_rewad"; did you mean "ocr_reward"?)"},
      {"/metrics/required", Json::array({"CER"}),
       R"(metrics.required[0]: unknown metric "CER"; did you mean "cer"?)"},
      {"/metrics/required",
       {"ocr", "cer"},
       R"(metrics.required[0]: unknown metric "ocr"; did you mean "ocr_reward"?)"},
      {"/metrics/required",
       {"ocr_reward", "cer_papre", "cer"},
       R"(metrics.required[1]: unknown metric "cer_papre"; did you mean "cer_paper"?)"},
      {"/prompts/default", "ocr-dark-generatd",
       "prompts: default: no prompt set \"ocr-dark-generatd\" is part of this program; did you mean "
       "\"ocr-dark-generated\"?"},
      {"/prompts/default_train", "geneval-shapes", "holds records of GenEval"},
      {"/prompts/default", "ocr-dark-generated", "accepted"},
      {"/shows", {{"checkpoints", "every"}}, "only the selected checkpoint may see the test split"},
      {"/grid", {{"pick", {"lossses"}}}, "losses"},
      {"/id", "../elsewhere", "it names a folder"},
      {"/id", std::string(101, 'a'), "at most 100 are allowed"},
      {"/id", std::string(100, 'a'), "accepted"},
      {"/id", "results.sqlite", "name of something else in a workspace"},
      {"/id", "journal.log", "name of something else in a workspace"},
      {"/id", "prompts", "name of something else in a workspace"},
      {"/id", "text-cache", "name of something else in a workspace"},
      {"/id", "0562654bf1b14d57", "name of something else in a workspace"},
      {"/seeds", Json::array({1.5}), "seeds: must be a list of whole numbers"},
      {"/seeds", Json::array({-1}), "seeds are 0 to"},
      {"", {{"extends", "sd35-ocr"}, {"seeds", {1}}}, "an id of its own"},
      {"", mine("tiny-sd3-zclip", {{"methods", {"flow-grpo"}}}),
       "names the row \"lambda-z-clip\", which is not among this table's methods"},
      {"",
       mine("sd35-pickscore",
            {{"backbones", {{"glyph", {{"stands_in", {{"geneval_score", "glyph_clip"}}}}}}}}),
       "unknown metric of this table"},
      {"", mine("sd35-pickscore", {{"backbones", {{"glyph", {{"stand_in", Json::object()}}}}}}), "stand_in"},
  });
}

TEST(TableSpec, OfAnUnknownColumnOnlyNamesThatAreThereAreProposed) {
  expect_said({
      {"/columns/1/name", "cer_papr", "columns[1]"},
      {"/columns/0",
       {{"name", "cer_papr"}},
       R"(columns[0]: name: unknown column "cer_papr"; did you mean "cer_paper"?)"},
      {"/columns/0", {{"name", "lamda_late"}}, R"(did you mean "lambda_late"?)"},
      {"/columns/0", {{"name", "OCR reward"}}, R"(did you mean "ocr_reward"?)"},  // by its heading
      {"/columns/0", {{"name", "Exact"}}, R"(did you mean "exact_match"?)"},
      {"/columns/0", {{"name", "Share of tau"}}, R"(did you mean "tau_share"?)"},
      {"/columns/0",
       {{"name", "edge_densty"}},
       R"(did you mean "edge_density"? The table does not measure it: name it in)"},
      {"/columns/0", {{"name", "qqqqqq"}}, "known: ocr_reward, cer, "},
  });
  Json both_misspelt = read_json(kShipped);
  both_misspelt["metrics"]["optional"] = Json::array({"clip_scor"});
  both_misspelt["columns"] = Json::array({{{"name", "clip_scr"}}});
  EXPECT_THAT(said_of(both_misspelt), HasSubstr(R"(did you mean "clip_score"?)"))
      << "not the other misspelling";
}

TEST(TableSpec, AStatisticThatNoTrainingStoresIsRefusedBeforeAnythingRuns) {
  const auto with = [](const Json& column) {
    return mine("tiny-sd3-zclip", {{"columns", Json::array({column})}, {"claims", Json::array()}});
  };
  expect_said({
      {"", with({{"name", "x"}, {"stat", "lambda_centre"}, {"timestep", 3}}),
       R"(columns[0]: stat: no training stores a statistic "lambda_centre"; did you mean "lambda_center"?)"},
      {"", with({{"name", "lambda_var"}}), "has one value per timestep; add \"timestep\""},
      {"", with({{"name", "loss"}, {"timestep", 3}}), "has no timesteps"},
      {"", with({{"name", "lambda_var"}, {"timestep", -1}}), "count from 0"},
      {"", with({{"name", "toy_level"}, {"of_method", true}}), "accepted"},
      {"", with({{"name", "damping_undone"}}), "accepted"},
      {"", with({{"name", "grad_norm_undamped"}}), "accepted"},
      {"", with({{"name", "samples_left_out"}}), "accepted"},
      {"", with({{"name", "ema_lag"}}), "accepted"},
  });
  auto spec = load_table_spec("tiny-sd3-zclip");
  EXPECT_NO_THROW(check_timesteps(spec, 8));
  EXPECT_THAT([&] { check_timesteps(spec, 7); }, ::testing::Throws<Error>(::testing::Property(
                                                     &Error::problem, HasSubstr("there is no timestep 7"))));
}

TEST(TableSpec, ATableMayExtendAnotherAndGiveOnlyWhatItChanges) {
  const auto spec = spec_of(R"({"extends": "sd35-ocr", "id": "mine", "seeds": [1, 2], "title": null,
                                "scales": {"smoke": {"limit": {"test": 10}, "notes": ["short"]}}})");
  const auto base = read_table_spec(kShipped);
  EXPECT_EQ(spec.id, "mine");
  EXPECT_EQ(spec.title, "mine") << "null takes a value away";
  EXPECT_EQ(spec.seeds, (std::vector<std::int64_t>{1, 2}));
  EXPECT_EQ(spec.methods, base.methods);
  EXPECT_EQ(spec.scale("smoke").test_limit, 10);
  EXPECT_EQ(spec.scale("smoke").validation_limit, base.scale("smoke").validation_limit);
  EXPECT_EQ(spec.scale("smoke").notes, std::vector<std::string>{"short"});
  EXPECT_FALSE(spec.document.contains("extends"));
  EXPECT_THAT([] { spec_of(R"({"extends": "sd35-orc", "id": "mine"})"); },
              ::testing::Throws<Error>(::testing::Property(&Error::hint, HasSubstr("\"sd35-ocr"))));
}

TEST(TableSpec, SettingsOfATableHoldOverTheBackbonesAndScalesOfTheOneItExtends) {
  const auto setting = [](const char* document, const char* scale, const char* name) {
    const auto spec = spec_of(document);
    return resolve_settings(registry(), spec, "glyph", scale, spec.methods, {}).loop_value(name);
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
  const auto folder = temporary("extending");
  std::filesystem::create_directories(folder / "below");
  write_file_atomically(folder / "a.json", R"({"extends": "sd35-ocr", "id": "a", "seeds": [1]})");
  write_file_atomically(folder / "below/b.json", R"({"extends": "../a.json", "id": "b", "title": "B"})");
  const auto spec = read_table_spec(folder / "below/b.json");
  EXPECT_EQ(spec.id, "b");
  EXPECT_EQ(spec.seeds, std::vector<std::int64_t>{1});
  EXPECT_EQ(spec.methods, read_table_spec(kShipped).methods);
  const std::vector<std::pair<std::string, std::string>> refused = {
      {R"({"extends": "below/b.json", "id": "a"})", "the table extends itself: "},
      {R"({"extends": "./a.json", "id": "a"})", "a.json; extend another table"},
      {R"({"extends": "c.json", "id": "a"})", "there is no file"},
      {R"({"extends": "sd35-ocr", "id": "sd35-ocr"})", "needs an id of its own"}};
  for (const auto& [text, said] : refused) {
    write_file_atomically(folder / "a.json", text);
    EXPECT_THAT([&] { read_table_spec(folder / "below/b.json"); },
                ::testing::ThrowsMessage<Error>(HasSubstr(said)));
  }
  std::filesystem::remove_all(folder);
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
  for (const auto& example : examples) {
    if (parse_json(example, "the example").contains(kTablesKey)) {
      auto shipped = read_json(HARNESS_SOURCE_DIR "/harness/tables/flux.json");
      shipped.erase("version");
      shipped.erase("notes");
      EXPECT_EQ(parse_json(example, "the example"), shipped);
      continue;
    }
    const auto spec = spec_of(example);
    EXPECT_NO_THROW(check_against_registry(spec, registry()));
    EXPECT_EQ(spec.id, "beta-sweep");
    EXPECT_EQ(spec.arm("dual 2").settings.at("beta_max"), 2);
  }
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

// The paper: 2148 test images; the indices of its gallery count records after the first 64.
TEST(TableOfABackbone, GenevalDividesThePublicRecordsByOrderAndThoseOfShapesLikewise) {
  const auto whole = load_table_spec("flux-geneval");
  EXPECT_EQ(whole.split, (SplitRule{.seed = std::nullopt, .take = 64}));
  EXPECT_EQ(whole.prompts_first - whole.split.take, 2148);
  EXPECT_EQ(whole.scale("paper").prompt_set, "geneval-flow-grpo");
  EXPECT_EQ(whole.backbone, "shapes-flux");
  const auto shapes = for_backbone(whole, whole.backbone);
  EXPECT_EQ(shapes.split, (SplitRule{.seed = std::nullopt, .take = 128}));
  EXPECT_EQ(shapes.prompts_first, 512);
  EXPECT_EQ(for_backbone(whole, "flux-dev").prompts_first, 2212);
  EXPECT_EQ(whole.methods, load_table_spec("flux-ocr").methods);
  EXPECT_EQ(whole.by_tag, "geneval_correct");
  EXPECT_EQ(whole.columns[1].name, "geneval_score");
  EXPECT_EQ(whole.columns[1].paper, "primary") << "the paper prints the mean of the graded score";
  EXPECT_NO_THROW(check_against_registry(whole, registry()));
}

TEST(TableSpec, ASplitIsDrawnByASeedOrTakenInOrderAndNotBoth) {
  expect_said({{"/split", {{"first", 64}}, "accepted"},
               {"/split", {{"first", 64}, {"seed", 1}}, "has both \"first\" and \"seed\""},
               {"/split", {{"first", 1018}}, "split: first: must be between 1 and 1017"},
               {"/split", {{"take", 64}}, "seed"},
               {"/by_tag", "exact", "did you mean \"exact_match\"?"}});
}

// The paper: saved checkpoints 40, 60, 80; mean PickScore on 256 validation prompts selects.
TEST(TableOfABackbone, ThePickScoreTablesAreThePapers) {
  for (const char* id : {"sd35-pickscore", "sd35-pickscore-val"}) {
    const auto spec = load_table_spec(id);
    EXPECT_EQ(spec.methods, (std::vector<std::string>{"ratio-norm", "lambda-controlled"}));
    EXPECT_EQ(spec.checkpoints, (std::vector<int>{40, 60, 80}));
    EXPECT_EQ(spec.split.seed, 20260501u);
    EXPECT_EQ(spec.split.take, 256);
    EXPECT_EQ(spec.prompts_first, 1018);
    EXPECT_EQ(spec.selection.metric, "pickscore");
    EXPECT_EQ(spec.scale("paper").prompt_set, "pickscore-public");
  }
}

TEST(TableSpec, AnUnknownMethodIsNamedWithTheNearestOfTheRegistry) {
  auto spec = read_table_spec(kShipped);
  spec.methods[1] = "duel";
  EXPECT_THAT([&] { check_against_registry(spec, registry()); },
              ::testing::Throws<Error>(::testing::Property(&Error::hint, R"(did you mean "dual"?)")));
}

Json shipped_with(const std::string& key, const Json& value) {
  auto document = read_json(kShipped);
  document[key] = value;
  return document;
}

TEST(TableSpec, OfALeaderboardSaysItsViewsAndWhatTuningTook) {
  const auto spec =
      spec_of(shipped_with("leaderboard", {{"groups", true}, {"second_view", "nfe_total"}}).dump());
  EXPECT_TRUE(spec.leaderboard->groups);
  EXPECT_TRUE(spec.has_second_view());
  EXPECT_EQ(spec_of(shipped_with("tuning", 9).dump()).tuning.at("dual"), 9);
  EXPECT_THAT(said_of(shipped_with("leaderboard", {{"second_view", "nfe"}})), HasSubstr("nfe_total"));
  EXPECT_THAT(said_of(shipped_with("tuning", {{"daul", 9}})), HasSubstr("did you mean \"dual\"?"));
  EXPECT_THAT(said_of(shipped_with("tuning", -1)), HasSubstr("must be a number of runs"));
  auto untested = shipped_with("leaderboard", {{"second_view", "nfe_total"}});
  untested["shows"] = {{"split", "validation"}};
  EXPECT_THAT(said_of(untested), HasSubstr("this table tests none"));
}

TEST(TableSpec, KnowsTheColumnsOfABudgetWithTheirNotes) {
  const auto spec =
      spec_of(shipped_with("columns", Json::array({{{"name", "nfe_total"}}, {{"name", "seconds"}}})).dump());
  EXPECT_EQ(spec.columns.at(0).better, "none");
  EXPECT_THAT(spec.columns.at(0).note, HasSubstr("forward + 3 backward"));
  EXPECT_THAT(said_of(shipped_with("columns", Json::array({{{"name", "nfe_totl"}}}))),
              HasSubstr("did you mean \"nfe_total\"?"));
}

TEST(TableSpec, FurtherRowsAndAnotherSplitAreThoseOfTheDocumentThatIsStored) {
  auto document = shipped_with("tuning", 9);
  document["backbones"]["glyph"] = {{"prompts", {{"first", 20}}}, {"split", {{"seed", 1}, {"take", 4}}}};
  const auto whole = spec_of(document.dump());
  EXPECT_EQ(for_backbone(whole, "glyph").prompts_first, 20);
  const auto given = with_outside_rows(whole, {"mine=/a", "yours=/c,/d", "mine=/b"}, "--adapter", "adapters");
  for (const auto& spec : {given, with_split(given, 3, 5)}) {
    const auto again = parse_table_spec(spec.document, spec.file);
    EXPECT_EQ(spec.methods, again.methods);
    EXPECT_EQ(spec.tuning, again.tuning);
    EXPECT_EQ(spec.arm("mine").places, (std::vector<std::string>{"/a", "/b"}));
    for (const auto* row : {"mine", "yours"}) {
      EXPECT_EQ(spec.arm(row).places, again.arm(row).places);
      EXPECT_EQ(spec.arm(row).method, again.arm(row).method);
    }
    for (const auto* backbone : {"sd35-medium", "glyph"}) {
      EXPECT_EQ(for_backbone(spec, backbone).split, for_backbone(again, backbone).split);
      EXPECT_EQ(for_backbone(spec, backbone).prompts_first, for_backbone(again, backbone).prompts_first);
    }
  }
  EXPECT_EQ(for_backbone(with_split(given, 3, 5), "glyph").split.take, 3);
  EXPECT_THAT([&] { with_outside_rows(given, {"mine=/e"}, "--images", "images"); },
              ::testing::ThrowsMessage<Error>(HasSubstr("\"mine\" is a row of the table already")));
}

TEST(TableSpec, MetricsOfExternalScorersAreThoseOfTheDocumentThatIsStored) {
  ExternalScorerSpec scorer;
  scorer.name = "gauge";
  scorer.metrics = {{.name = "level", .title = "Level", .unit = "percent", .better = "lower", .decimals = 1},
                    {.name = "noise", .title = "Noise"}};
  auto known = registry();
  auto& gauge = known.evaluators.emplace_back();
  gauge.name = scorer.name;
  gauge.metrics = scorer.metrics;
  auto document = shipped_with("task", "maximize:noise");
  document["metrics"]["optional"].push_back("level");
  document["columns"].push_back({{"name", "level"}});
  const auto read = spec_of(document.dump());
  EXPECT_EQ(read.better("level"), "none") << "nobody knows it yet";
  const auto spec = with_external_metrics(read, {scorer}, known);
  const auto again = parse_table_spec(spec.document, spec.file, MetricCatalogue(known.evaluators));
  EXPECT_EQ(spec.metrics(), again.metrics());
  EXPECT_EQ(spec.better("level"), "lower");
  EXPECT_EQ(spec.better("noise"), "higher") << "the side that the task takes";
  ASSERT_EQ(spec.columns.size(), again.columns.size());
  ASSERT_EQ(spec.columns.size(), read.columns.size() + 1);
  for (std::size_t i = 0; i < spec.columns.size(); ++i) {
    const auto &column = spec.columns[i], &other = again.columns[i];
    EXPECT_EQ(std::tie(column.name, column.title, column.unit, column.better, column.decimals, column.note),
              std::tie(other.name, other.title, other.unit, other.better, other.decimals, other.note));
  }
  document["columns"].back()["better"] = "higher";
  EXPECT_THAT(
      [&] { with_external_metrics(spec_of(document.dump()), {scorer}, known); },
      ::testing::ThrowsMessage<Error>(HasSubstr("\"higher\" contradicts level, for which lower is better "
                                                "(evaluator gauge)")));
}

TEST(TableSpec, PlacesFromTheCommandLineBecomeAbsoluteWithoutDots) {
  EXPECT_EQ(absolute_places("absent/../x, ./y"),
            fmt::format("{0}/x,{0}/y", std::filesystem::current_path().string()));
}

}  // namespace
}  // namespace harness
