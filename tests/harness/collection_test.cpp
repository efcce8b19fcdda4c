#include "harness/spec/collection.h"

#include "tests/harness/table_family.h"
#include "tests/harness/workplace.h"

namespace harness::test {
namespace {

/// A collection of two tables: both.json joins reading.json and writing.json, of which the first is trained
/// for "ocr", the second for "glyph-clip".
class CollectionTest : public SmokeTest {
 protected:
  CollectionTest() { write_tables(place); }

  static void write_tables(const Workplace& place) {
    const Json clipped = {
        {"name", "clipped"}, {"stat", "clip_fraction"}, {"title", "Clipped"}, {"decimals", 3}};
    place.write("reading.json", {{"extends", "sd35-ocr"},
                                 {"id", "reading"},
                                 {"methods", {"ratio-norm", "dual"}},
                                 {"window", {{"last", 4}}},
                                 {"columns", {{{"name", "ocr_reward"}, {"paper", "ocr"}}, clipped}}});
    place.write("writing.json", {{"extends", "./reading.json"},
                                 {"id", "writing"},
                                 {"task", "glyph-clip"},
                                 {"reproduces", ""},
                                 {"selection", {{"metric", "exact_match"}}},
                                 {"columns", {{{"name", "exact_match"}}, clipped, {{"name", "cer"}}}}});
    place.write("both.json", kWhole);
  }

  /// What both() leaves, which is run once for all tests of a process.
  void make_both() {
    static Workplace made;
    if (!fs::exists(made.folder() / "runs")) {
      write_tables(made);
      made.ok(both());
    }
    copy_runs(made);
  }

  static Words both(const Words& more = {}) {
    return with({"reproduce", "--table", "both.json", "--scale", "smoke"}, more);
  }

  inline static const Json kWhole = {
      {"id", "both"},
      {"title", "reading and writing"},
      {"tables", {"./reading.json", "./writing.json"}},
      {"columns",
       {{{"title", "Score"}, {"of", {{"reading", "ocr_reward"}, {"writing", "exact_match"}}}},
        {{"title", "Clipped"}, {"of", "clipped"}}}},
      {"notes", {"Two tasks."}}};
};

/// Without what says where and when it was made.
Json lasting(Json table) {
  table.erase("artifacts");
  table.erase("wall_seconds");
  return table;
}

TEST_F(CollectionTest, IsOneTableOfOneReproduce) {
  const auto table = place.json(both({"--json"}));
  EXPECT_EQ(table.at("table"), "both");
  ASSERT_EQ(table.at("rows").size(), 4U);
  EXPECT_EQ(table.at("reference").size(), 2U);
  for (const auto& row : table.at("rows")) {
    const bool reads = row.at("task") == "ocr";
    EXPECT_TRUE(row.at("metrics").contains(reads ? "ocr_reward" : "exact_match")) << row;
    EXPECT_FALSE(row.at("metrics").contains("cer")) << "the collection has no column for it";
    EXPECT_EQ(row.at("paper").contains("ocr_reward"), reads) << row;
  }
  // One method against the baseline and two against the base model, in each task.
  EXPECT_EQ(table.at("comparisons").size(), 6U);
  for (const auto& [name, path] : table.at("artifacts").items())
    EXPECT_GT(fs::file_size(place.folder() / path.get<std::string>()), 0u) << name;
  EXPECT_TRUE(table.at("artifacts").contains("writing/grid.png"));
  ok({"table", "both.json"},
     {"| Task ", "| glyph-clip |", "Score: OCR reward for ocr, Exact (%) for glyph-clip.", "- Two tasks."});
  for (const char* format : {"latex", "csv", "html"})
    ok({"table", "both.json", "--format", format}, {"glyph-clip"});

  place.environment["HARNESS_WORKER"] = "/nonexistent";
  EXPECT_EQ(lasting(place.json(both({"--json"}))), lasting(table)) << "nothing is left to run";
  EXPECT_EQ(lasting(place.json({"table", "both.json", "--format", "json"})), lasting(table));
}

TEST_F(CollectionTest, ItsClaimsAreOneFamilyWithThoseThatItDoesNotShow) {
  const auto comparisons = place.json(both({"--json"})).at("comparisons");
  std::vector<TableQuestion> questions;
  for (const char* table : {"reading", "writing"}) {
    for (auto question : questions_in(place.json({"table", table, "--format", "json"}))) {
      question.table = table;
      questions.push_back(std::move(question));
    }
  }
  const Family family(std::move(questions));
  int judged = 0;
  for (const auto& c : comparisons) {
    auto question = question_in(c);
    question.table = c.at("task") == "ocr" ? "reading" : "writing";
    const auto adjusted = family.find(question)->p;
    ASSERT_EQ(c.at("p_adjusted").is_null(), !adjusted) << c;
    if (!adjusted) continue;
    EXPECT_NEAR(c.at("p_adjusted").get<double>(), *adjusted, 1e-12) << c;
    ++judged;
  }
  EXPECT_GT(judged, 3);
}

TEST_F(CollectionTest, AColumnOfATrainingStatisticIsItsMeanOverTheWindow) {
  make_both();
  const auto table = place.json({"table", "reading", "--format", "json"});
  for (const auto& row : table.at("rows")) {
    const auto expected =
        place
            .rows(
                "SELECT avg(value) AS v FROM train_stats JOIN runs ON runs.id = run_id WHERE task = 'ocr' "
                "AND method = '" +
                row.at("method").get<std::string>() +
                "' AND name = 'clip_fraction' AND timestep IS NULL "
                "AND on_policy = 0 AND update_index > 2")
            .at(0)
            .at("v");
    ASSERT_TRUE(expected.is_number()) << row;
    EXPECT_DOUBLE_EQ(row.at("metrics").at("clipped").at("mean"), expected) << row;
  }
  EXPECT_FALSE(table.at("reference").at(0).at("metrics").contains("clipped"));
}

TEST_F(CollectionTest, CommandsLookAtEachOfItsTables) {
  make_both();
  const auto checked = place.json({"check", "both.json", "--json"});
  EXPECT_EQ(checked.at("parts").size(), 2U);
  EXPECT_EQ(entry(checked.at("rules"), {{"table", "writing"}, {"name", "split"}}).at("passed"), true);
  ok({"check", "both.json"}, {"reading, experiment 1", "writing, experiment 2"});
  ok({"grid", "both.json", "-n", "2", "-o", "pictures"});
  ok({"report", "both.json", "-o", "pages"});
  for (const char* file : {"pictures/reading/grid.png", "pictures/writing/grid.png",
                           "pages/reading/report.html", "pages/writing/report.html"})
    EXPECT_TRUE(fs::exists(place.folder() / file)) << file;
  // The base and two methods of each table.
  EXPECT_EQ(place.json({"verify", "--table", "both.json", "--images", "2", "--json"}).at("jobs").size(), 6U);
  EXPECT_EQ(place.json({"list", "runs", "--table", "both.json", "--json"}).size(), 6U);
  fails(2, {"compare", "ratio-norm", "dual", "--table", "both.json"},
        {"joins several tables", "name one of them: reading, writing"});
  ok({"table", "both"}, {"| Task "});
  fails(2, {"report", "both.json", "-o", "both.html"}, {"name a folder"});
  fails(2, {"table", "both.json", "--experiment", "1"}, {"--experiment", "reading, writing"});
}

TEST_F(CollectionTest, IsPlannedAsAWhole) {
  const auto plan = place.json(both({"--dry-run", "--json"}));
  ASSERT_EQ(plan.at("parts").size(), 2U);
  double seconds = 0;
  for (const auto& part : plan.at("parts")) seconds += part.at("estimate").at("seconds").get<double>();
  EXPECT_DOUBLE_EQ(plan.at("estimate").at("seconds"), seconds);
  // What the second table lacks is said before the first one runs.
  auto needy = read_json(place.folder() / "writing.json");
  needy["metrics"] = {{"required", {"exact_match", "cer", "pickscore"}}, {"optional", Json::array()}};
  place.write("writing.json", needy);
  const auto refused = fails(2, both({"--dry-run"}), {"table writing needs the metric pickscore"});
  EXPECT_EQ(refused.out, "");
  fails(2, both(), {"table writing needs the metric pickscore"});
  EXPECT_FALSE(fs::exists(runs));
}

TEST_F(CollectionTest, FreshThrowsNothingAwayBeforeEveryTableWasChecked) {
  make_both();
  place.environment["HARNESS_WORKER"] = "/nonexistent";
  place.run(both({"--fresh"}));
  place.environment.erase("HARNESS_WORKER");
  EXPECT_EQ(place.rows("SELECT count(*) AS n FROM reproductions").at(0).at("n"), 2);
}

TEST_F(CollectionTest, SeveralSeedsArePooledByTask) {
  const auto table = place.json(both({"--seeds", "1..3", "--json"}));
  EXPECT_EQ(table.at("rows").size(), 12U);
  for (const auto& c : table.at("comparisons")) EXPECT_EQ(c.at("runs").at("n"), 3) << c;
  ok({"table", "both.json", "--seeds", "1..3"},
     {"| ocr        | dual       |", " \u00b1 ", "the adjusted p, in the family of"});
}

TEST_F(CollectionTest, TablesOfDifferentSettingsAreNotPutTogether) {
  make_both();
  const auto before = place.json({"table", "both.json", "--format", "json"});
  ok({"reproduce", "--table", "reading.json", "--scale", "smoke", "--set", "lr=1e-5"});
  const auto after = place.json({"table", "both.json", "--format", "json"});
  for (const char* part : {"rows", "comparisons", "signature"}) EXPECT_EQ(after.at(part), before.at(part));
}

TEST_F(CollectionTest, ATableThatHasNoExperimentIsNamed) {
  ok({"reproduce", "--table", "reading.json", "--scale", "smoke"});
  fails(2, {"table", "both.json"},
        {"holds no completed experiment of writing", "harness reproduce --table both.json"});
}

TEST_F(CollectionTest, WhatDoesNotGoTogetherIsRefused) {
  // Another task in the file, and the same one with the backbone.
  place.write("clip.json", {{"extends", "./writing.json"},
                            {"id", "clip"},
                            {"task", "pickscore"},
                            {"backbones", {{"glyph", {{"task", "ocr"}}}}}});
  const auto refuses = [&](const Json& patch, const Words& said) {
    auto document = kWhole;
    document.merge_patch(patch);
    place.write("both.json", document);
    fails(2, both(), said);
  };
  refuses({{"tables", {"./reading.json"}}}, {"needs two tables or more"});
  refuses({{"tables", {"./reading.json", "./reading.json"}}}, {"names the table reading twice"});
  refuses({{"tables", {"./reading.json", "sd35-ocr"}}}, {"different methods"});
  refuses({{"tables", {"./reading.json", "sd35-pickscore"}}}, {"different methods"});
  refuses({{"tables", {"./reading.json", "tiny-sd3-zclip"}}}, {"one of training statistics"});
  refuses({{"tables", {"./reading.json", "flux"}}}, {"joins several tables"});
  refuses({{"tables", {"./reading.json", "sd35-orc"}}}, {"did you mean \"sd35-ocr\"?"});
  refuses({{"columns", {{{"title", "Score"}, {"of", "ocr_reward"}}}}},
          {"unknown column of writing \"ocr_reward\""});
  refuses({{"columns", {{{"title", "Score"}, {"of", {{"reading", "ocr_reward"}}}}}}}, {"\"writing\""});
  refuses({{"tables", {"./reading.json", "./clip.json"}}}, {"two tables have the task ocr"});
  refuses({{"titel", "x"}}, {"unknown key \"titel\"", "did you mean \"title\"?"});
  refuses({{"id", "reading"}}, {"the collection's own id"});
}

/// drawing.json, trained for GenEval on a backbone of its own, beside reading.json.
class MixedCollection : public CollectionTest {
 protected:
  MixedCollection() {
    place.write("drawing.json", {{"extends", "flux-geneval"},
                                 {"id", "drawing"},
                                 {"methods", {"ratio-norm", "dual"}},
                                 {"reproduces", ""},
                                 {"window", {{"last", 4}}}});
    auto whole = kWhole;
    whole["tables"] = {"./reading.json", "./drawing.json"};
    whole["columns"] = {
        {{"title", "Score"}, {"of", {{"reading", "ocr_reward"}, {"drawing", "geneval_score"}}}}};
    place.write("both.json", whole);
  }
};

TEST_F(MixedCollection, EachTableIsMadeWithItsOwnBackbone) {
  const auto table = place.json(both({"--json"}));
  EXPECT_EQ(table.at("backbone"), "glyph, shapes-flux");
  EXPECT_EQ(table.at("parts").at(0).at("backbone"), "glyph");
  EXPECT_EQ(table.at("parts").at(1).at("backbone"), "shapes-flux");
  ok({"table", "both.json"}, {"Backbones glyph (ocr), shapes-flux (geneval)", "GenEval correct (%) by tag"});
  EXPECT_EQ(lasting(place.json({"table", "both.json", "--format", "json"})), lasting(table));
  ok({"check", "both.json"});
  ok({"list", "tables"});
}

TEST_F(MixedCollection, GenevalIsShownByTagAndComparedAsAWhole) {
  const auto table = place.json(smoke_of("drawing.json", {"--json"}));
  for (const auto& row : table.at("rows")) {
    double images = 0;
    for (const auto& [tag, share] : row.at("by_tag").at("tags").items())
      images += share.at("n").get<double>() + share.at("n_missing").get<double>();
    EXPECT_EQ(images, row.at("n")) << row;
  }
  const auto tags = place.rows(
      "SELECT count(DISTINCT json_extract(target, '$.tag')) AS n FROM prompts JOIN samples ON prompt_id = prompts.id");
  EXPECT_EQ(tags.at(0).at("n"), 6);
  fails(2, {"grid", "drawing", "--pick", "paper"},
        {"shows prompts of geneval-flow-grpo", "records of other tags"});
  ok({"check", "drawing"});
}

TEST_F(MixedCollection, ABackboneWhoseImagesNoEvaluatorScoresIsRefused) {
  fails(2, smoke_of("drawing.json", {"--backbone", "glyph"}),
        {"needs the metric geneval_correct with backbone glyph",
         "no evaluator gives it of this backbone's images", "choose another --backbone"});
}

TEST_F(MixedCollection, PromptsThatOneBackboneCannotDrawAreForTheOtherTables) {
  std::string quoted;
  for (int i = 0; i < 1018; ++i) quoted += "a sign \"NUMBER " + std::to_string(i) + "\"\n";
  place.write_text("prompts/ocr/test.txt", quoted);
  const Words given = {"--prompts", "prompts"};
  const auto note =
      "--prompts holds no records of shapes, and shapes-flux draws nothing else: drawing uses its own.";
  const auto expect_note = [&] {
    const auto parts = place.json(both(with(given, {"--dry-run", "--json"}))).at("parts");
    EXPECT_EQ(parts.at(0).at("notes"), Json::array());
    EXPECT_EQ(parts.at(1).at("notes").at(0), note);
  };
  expect_note();
  place.write_text("prompts/geneval/test_metadata.jsonl",
                   R"({"tag": "single_object", "prompt": "a photo of a bench", )"
                   R"("include": [{"class": "bench", "count": 1}]})");
  expect_note();
  ok(both(given), {note});
  fails(2, smoke_of("drawing.json", given), {"backbone shapes-flux draws shapes", "leave the option out"});
}

TEST(Collections, ThePapersFluxTableHasItsTasks) {
  const auto flux = find_collection("flux").value();
  EXPECT_EQ(flux.table_ids(), (std::vector<std::string>{"flux-ocr", "flux-pickscore", "flux-geneval"}));
  EXPECT_EQ(flux.backbones(), (std::vector<std::string>{"glyph-flux", "shapes-flux"}));
  EXPECT_EQ(flux.backbone_for(flux.tables.at(2), "glyph-flux"), "shapes-flux");
  EXPECT_EQ(flux.backbone_for(flux.tables.at(2), "flux-dev"), "flux-dev");
  for (const auto& table : flux.tables) {
    EXPECT_EQ(table.methods, (std::vector<std::string>{"flow-grpo", "ratio-norm", "lambda-controlled"}));
    EXPECT_EQ(table.reproduces, "flux");
    EXPECT_EQ(table.checkpoints, (std::vector<int>{40, 60, 80}));
    EXPECT_EQ(table.window.last, 50);
  }
  EXPECT_FALSE(find_collection("sd35-ocr").has_value());
  EXPECT_FALSE(find_collection("nobody-knows").has_value());
}

}  // namespace
}  // namespace harness::test
