#include <fmt/format.h>

#include <algorithm>

#include "core/text.h"
#include "tests/harness/workplace.h"

// Scorers whose models come from folders, and the tables that are made with them.

namespace harness::test {
namespace {

constexpr const char* kTable = "sd35-pickscore";

/// A model folder as a scorer wants it; `value`: of its only weight.
void write_scorer(const fs::path& folder, float value = 1) {
  Workplace::write_weights(folder, value);
  write_file_atomically(folder / "config.json", "{}");
  write_file_atomically(folder / "preprocessor_config.json", "{}");
  write_file_atomically(folder / "pytorch_model.bin", "the same in another format");
}

/// DIR/pickscore/test.txt: 1024 prompts, of which every tenth quotes a text.
void write_prompts(const fs::path& folder) {
  std::vector<std::string> lines;
  for (int i = 0; i < 1024; ++i) {
    lines.push_back(i % 10 == 0 ? fmt::format("a shop sign that reads \"No {}\"", i)
                                : fmt::format("a painting of {} boats", i));
  }
  fs::create_directories(folder / "pickscore");
  write_file_atomically(folder / "pickscore/test.txt", join(lines, "\n"));
}

class TableTest : public SmokeTest {
 protected:
  /// The rows of an answer.
  std::string answer(const std::string& sql) {
    const auto csv = query(sql);
    return csv.substr(csv.find('\n') + 1);
  }

  void expect_rules_kept(const std::string& table) {
    EXPECT_THAT(place.run({"check", table}).out, Not(HasSubstr("FAIL  ")));
  }
};
using StandIn = TableTest;
using ValidationTable = TableTest;

/// With a backbone that draws scenes, on prompts that hardly quote anything, with both scorers.
class SceneTest : public TableTest {
 protected:
  SceneTest() {
    Workplace::write_weights(place.folder() / "sd35", 2);
    write_prompts(place.folder() / "sets");
    write_scorer(scorers / "pickscore");
  }
  static Words command(const Words& more = {}) {
    return smoke_of(kTable, with({"--backbone", "sd35-medium", "--weights", "sd35", "--prompts", "sets",
                                  "--scorers", "scorers"},
                                 more));
  }

  const fs::path scorers = place.folder() / "scorers";
};
using Scorers = SceneTest;
using ScenePrompts = SceneTest;
using ScoreGrid = SceneTest;

TEST_F(ScenePrompts, ToTrainOnOfPickScoreArePlainSentencesAndNeverOnesToWrite) {
  constexpr auto kNote = "each asking for a written text";
  ok(command(), {kNote});
  std::vector<std::string> lines;
  for (int i = 0; i < 30; ++i) lines.push_back(fmt::format("a drawing of {} trees", i));
  place.write_text("mine/train.txt", join(lines, "\n"));
  const auto own = ok(command({"--train-prompts", "mine"}), {"Training prompts: pickscore-user-"});
  EXPECT_THAT(own.out, Not(HasSubstr(kNote)));
  lines[7] = "a painting of 3 boats";
  place.write_text("mine/train.txt", join(lines, "\n"));
  fails(2, command({"--train-prompts", "mine"}),
        {"1 of its prompts is one of validation or test (same text): line 8"});
}

TEST_F(StandIn, NoFigureOfTheEmbeddedScorerIsCalledPickScore) {
  const auto table =
      ok(smoke_of(kTable), {"glyph-CLIP score \u2191", "PickScore 0.8358", "glyph-clip v1 profile embedded"});
  for (const auto& line : split(table.out, '\n')) {
    if (line.find("PickScore") == std::string::npos) continue;
    EXPECT_TRUE(line.find("paper") != std::string::npos || line.find("not comparable") != std::string::npos)
        << "a line that speaks of PickScore, and not of the paper's: " << line;
  }
  EXPECT_THAT(table.out, Not(HasSubstr("| pickscore v1")));
  EXPECT_EQ(answer("SELECT DISTINCT task FROM runs"), "glyph-clip\n");
  EXPECT_EQ(answer("SELECT DISTINCT metric FROM selections WHERE metric <> ''"), "glyph_clip\n");
}

TEST_F(StandIn, TheJsonDocumentNamesBothMetricsAndComparesNeither) {
  const auto table = place.json(smoke_of(kTable, {"--json"}));
  EXPECT_EQ(table.at("stands_in"), Json({{"pickscore", "glyph_clip"}, {"pickscore_std", "glyph_clip_std"}}));
  for (const auto& row : table.at("rows")) {
    EXPECT_TRUE(row.at("metrics").contains("glyph_clip"));
    EXPECT_FALSE(row.at("metrics").contains("pickscore"));
    EXPECT_FALSE(row.at("paper").contains("glyph_clip")) << "the paper's figure is of another scorer";
    EXPECT_TRUE(row.at("paper").contains("pickscore"));
  }
  ASSERT_EQ(table.at("claims").size(), 1u);
  EXPECT_EQ(table.at("claims")[0].at("comparable"), false);
  EXPECT_TRUE(table.at("claims")[0].at("holds").is_null());
}

TEST_F(StandIn, ReportAndListedSettingsFollowTheBackbone) {
  ok(smoke_of(kTable));
  ok({"report", kTable});
  EXPECT_THAT(read_file(runs / kTable / "report.html"), HasSubstr("not comparable"));
  ok({"list", "settings", "--table", kTable});
  ok({"compare", "ratio-norm", "lambda-controlled", "--metric", "glyph_clip"});
}

TEST_F(ValidationTable, SharesTheRunsOfTheTestTableAndTestsNothing) {
  EXPECT_EQ(job_ids(place, smoke_of(kTable), "train"),
            job_ids(place, smoke_of("sd35-pickscore-val"), "train"));
  EXPECT_TRUE(job_ids(place, smoke_of("sd35-pickscore-val"), "test").empty());
  ok(smoke_of("sd35-pickscore-val"));
  EXPECT_EQ(place.count("evaluations WHERE split = 'test'"), 0);
  ok(smoke_of(kTable));
  EXPECT_EQ(place.count("runs WHERE method <> 'base'"), 2);
  EXPECT_EQ(place.count("evaluations WHERE split = 'test'"), 3);
}

TEST_F(ValidationTable, AfterTheTestTableIsThereWithoutAWorkerAndInTheViews) {
  ok(smoke_of(kTable));
  place.environment["HARNESS_WORKER"] = "/nonexistent";
  ok(smoke_of("sd35-pickscore-val"));
  EXPECT_EQ(place.count("v_results WHERE table_id = 'sd35-pickscore-val' AND split = "
                        "'validation' AND metric = 'glyph_clip' AND method <> 'base'"),
            6);
  expect_sound();
}

TEST_F(ValidationTable, ShowsEveryCheckpointWithWhatItSpent) {
  const auto table = place.json(smoke_of("sd35-pickscore-val", {"--json"}));
  ASSERT_EQ(table.at("rows").size(), 6u);
  std::map<std::string, int> selected;
  for (const auto& row : table.at("rows")) {
    EXPECT_EQ(row.at("split"), "validation");
    EXPECT_NEAR(row.at("tau").get<double>(), 0.00201007, 1e-8) << "-ln(0.99) / 5";
    selected[row.at("method")] += row.at("selected").get<bool>() ? 1 : 0;
  }
  EXPECT_EQ(selected, (std::map<std::string, int>{{"ratio-norm", 1}, {"lambda-controlled", 1}}));
  // The paper's rows at 80, printed 6.80e-3, and at 40, printed 3.8e-5; what its spends are of its budget.
  ok({"table", "sd35-pickscore-val"}, {"Share of tau (%)", " 0.00680 ", " 0.000038 ", "2.31, 0.09, 1.66 tau",
                                       "These prompts also selected the checkpoints"});
  for (const char* format : {"latex", "csv", "html"}) ok({"table", "sd35-pickscore-val", "--format", format});
}

TEST_F(ValidationTable, OfTheOcrTaskShowsTheSelectedCheckpoints) {
  const auto table = place.json(smoke_of("sd35-ocr-val", {"--json"}));
  EXPECT_EQ(table.at("rows").size(), 3u);
  EXPECT_EQ(table.at("rows")[0].at("split"), "validation");
  EXPECT_NEAR(table.at("rows")[0].at("paper").at("exact_match").get<double>(), 0.1094, 1e-9);
}

TEST_F(ValidationTable, KeepsTheRules) {
  for (const char* table : {"sd35-pickscore-val", "sd35-ocr-val", kTable}) {
    ok(smoke_of(table));
    expect_rules_kept(table);
  }
}

TEST_F(Scorers, ARequiredOneWithoutItsFolderStopsThePlanAndNamesTheFolder) {
  fs::rename(scorers / "pickscore", scorers / "clip_score");
  fails(2, command(), {"there is no folder scorers/pickscore"});
  EXPECT_FALSE(fs::exists(runs));
  fails(2, smoke_of(kTable, {"--backbone", "sd35-medium", "--weights", "sd35"}), {"--scorers DIR"});
}

TEST_F(Scorers, AnOptionalOneWithoutItsFolderIsNotRunAndSaysWhereItWasLookedFor) {
  ok(command(), {"clip_score was not run: there is no folder scorers/clip_score"});
  EXPECT_EQ(place.count("metrics WHERE name = 'clip_score'"), 0);
}

TEST_F(Scorers, TheirFilesAreInTheIdentityAndInTheDryRun) {
  write_scorer(scorers / "clip_score");
  const auto plan = place.json(command({"--dry-run", "--json"}));
  const auto& files = plan.at("scorers").at("pickscore").at("files");
  EXPECT_EQ(plan.at("scorers").size(), 5u) << "OCR, JPEG size and image statistics too";
  EXPECT_EQ(files.size(), 3u) << "weights and the two configurations: " << files.dump();
  ok(command({"--dry-run"}),
     {"Scorer pickscore v1, the training reward: ", "Backbone sd35-medium fp32, weights sd35, sha256 "});
  const auto before = job_ids(place, command(), "train");
  write_scorer(scorers / "clip_score", 2);
  EXPECT_EQ(job_ids(place, command(), "train"), before) << "it rewards nobody";
  write_scorer(scorers / "pickscore", 2);
  EXPECT_NE(job_ids(place, command(), "train"), before);
}

TEST_F(Scorers, AProfileOfOneThatScoresNothingHereIsRefused) {
  fails(2, command({"--set", "clip_score_profile=flow-grpo"}),
        {"--set clip_score_profile: setting clip_score_profile is not used: clip_score scores nothing here"});
}

TEST_F(Scorers, ASettingChoosesTheProfileOfOneThatHasSeveral) {
  write_scorer(scorers / "clip_score");
  const auto before = command();
  const auto other = command({"--set", "clip_score_profile=flow-grpo"});
  EXPECT_EQ(job_ids(place, other, "train"), job_ids(place, before, "train")) << "it rewards nobody";
  EXPECT_NE(job_ids(place, other, "evaluate"), job_ids(place, before, "evaluate"));
  ok(other, {"clip_score v1 profile flow-grpo"});
  ok({"check", kTable});
  fails(2, command({"--set", "clip_score_profile=flow-gpro"}), {"did you mean \"flow-grpo\""});
}

TEST_F(Scorers, AFolderIsCheckedForTheProfileThatItIsUsedWith) {
  write_scorer(scorers / "clip_score");
  write_file(scorers / "clip_score/config.json", R"({"refuses": "clip"})");
  fails(2, command(), {"clip_score/config.json", "is broken"});
  ok(command({"--set", "clip_score_profile=flow-grpo"}));
}

TEST_F(Scorers, AFolderOfTheWrongLevelOrWithoutAnyIsAnError) {
  const auto refused = [&](const std::string& folder, const std::string& text) {
    fails(2, smoke({"--scorers", folder, "--dry-run"}), {text});
  };
  refused("scorers/pickscore/", "is the folder of one scorer");
  refused("scorers/pickscore", "/scorers\n");
  fs::create_directories(place.folder() / "mine/gauge");
  refused("mine/gauge", "holds no scorer");
  place.write_text("mine/gauge/scorer.json", "{}");
  refused("mine/gauge", "is the folder of one scorer: it holds scorer.json");
  refused("nowhere", "is not a folder");
}

TEST_F(Scorers, OneWhoseMetricIsReplacedByTheEmbeddedOneIsSaidToBeUnused) {
  ok(smoke_of(kTable, {"--scorers", "scorers", "--dry-run"}), {"Scorer pickscore is present but not used"});
  EXPECT_THAT(ok(command({"--dry-run"})).out, Not(HasSubstr("not used")));
}

TEST_F(Scorers, AreFoundInHarnessPathToo) {
  fs::create_directories(place.share() / "scorers");
  fs::rename(scorers / "pickscore", place.share() / "scorers/pickscore");
  ok(smoke_of(kTable, {"--backbone", "sd35-medium", "--weights", "sd35", "--prompts", "sets", "--dry-run"}));
}

TEST_F(Scorers, AFolderThatNobodyReadsIsAnErrorWithTheNearestName) {
  write_scorer(scorers / "PickScore_v1");
  fails(2, command(), {"PickScore_v1", "\"pickscore\""});
  write_file_atomically(scorers / "PickScore_v1/scorer.json", "{}");
  EXPECT_THAT(place.run(command({"--dry-run"})).err, Not(HasSubstr("no scorer of this build")));
}

TEST_F(Scorers, AFolderWithoutWeightsOrWithBrokenOnesStopsThePlan) {
  const auto folder = scorers / "pickscore";
  fs::remove(folder / "model.safetensors");
  fails(2, command(), {"holds no model.safetensors"});
  write_file_atomically(folder / "model.safetensors", "not weights");
  fails(2, command());
  write_scorer(folder);
  write_file_atomically(folder / "config.json", R"({"is": "broken"})");
  fails(2, command(), {"mend it"});  // says the worker
  fails(2, command({"--dry-run"}));
}

TEST_F(Scorers, AnInterruptedRunGoesOnWithTheSameFolder) {
  const auto outcome = place.end(place.start_busy(command(), "evaluate"), SIGINT);
  EXPECT_EQ(outcome.status, 130);
  EXPECT_THAT(outcome.err, HasSubstr("--scorers scorers"));
}

TEST_F(Scorers, DoctorSaysWhichAreThere) {
  const auto lines =
      place.json({"doctor", "--scorers", "scorers", "--prompts", "sets", "--json"}).at("findings");
  const auto clip = entry(lines, {{"name", "scorer clip_score"}, {"found", false}});
  EXPECT_THAT(clip.at("hint").get<std::string>(), HasSubstr("scorers/clip_score"));
  for (const char* name : {"scorer pickscore", "public prompts"})
    entry(lines, {{"name", name}, {"found", true}});
  ok({"list", "evaluators"}, {"--scorers DIR: DIR/pickscore"});
}

TEST_F(ScenePrompts, GlyphRefusesAListThatQuotesNothing) {
  fails(2, smoke_of(kTable, {"--prompts", "sets"}), {"916 of the first 1018 prompts", "--backbone"});
  EXPECT_FALSE(fs::exists(runs));
}

TEST_F(ScenePrompts, TextMetricsAreOfThePromptsThatQuoteAText) {
  const auto table = place.json(command({"--json"}));
  for (const auto& row : table.at("rows")) {
    EXPECT_EQ(row.at("n"), 48);
    EXPECT_EQ(row.at("n_missing"), 1) << "the fake scorer fails at one position, and nowhere else";
  }
  EXPECT_EQ(answer("SELECT DISTINCT reason FROM metrics WHERE value IS NULL AND name = 'ocr_reward' ORDER "
                   "BY reason DESC"),
            "the prompt quotes no text\nthe fake scorer fails at position 5\n");
  const auto text = ok({"table", kTable}, {"Text metrics: over the", "| PickScore \u2191",
                                           "pickscore 1 of 48 (mean over 47). A scorer failed there"});
  EXPECT_THAT(text.out, Not(HasSubstr("not comparable")));
  expect_rules_kept(kTable);
}

TEST_F(ScenePrompts, ThePaperScaleAsksForThePublicList) {
  auto paper = command();
  std::ranges::replace(paper, std::string("smoke"), std::string("paper"));
  fails(2, paper, {"asks for the prompt set pickscore-public"});
}

TEST_F(ScenePrompts, DatasetsKnowTheTask) {
  const auto verified = place.json({"datasets", "verify", "sets", "--task", "pickscore", "--json"});
  EXPECT_EQ(verified.at("prompts"), 1024);
  EXPECT_EQ(verified.at("prompts_with_target"), 103);
  EXPECT_EQ(verified.at("known"), false);
  EXPECT_EQ(verified.at("training_set"), "ocr-train-generated");
  const auto lines = split(read_file(place.folder() / "sets/pickscore/test.txt"), '\n');
  place.write_text("train/pickscore/train.txt", "a cat\n" + lines.at(7) + "\n");
  const Words shared = {"datasets",  "verify",          "sets",  "--task",
                        "pickscore", "--train-prompts", "train", "--json"};
  EXPECT_EQ(place.json(shared, 1).at("shared_texts"), 1);
  ok({"datasets", "import", "sets", "--task", "pickscore"});
  ok({"datasets", "list"}, {"pickscore-user-"});
}

TEST_F(ScoreGrid, ShowsWinsNearTiesLossesAndFailuresUnlessItIsToldOtherwise) {
  ok(command());
  const auto folder = runs / kTable;
  auto page = read_file(folder / "grid.html");
  for (const char* group : {"Wins", "Near-ties", "Losses", "Weakest for all methods"})
    EXPECT_THAT(page, HasSubstr(group));
  EXPECT_THAT(page, HasSubstr("12 prompts of the test split"));
  EXPECT_THAT(page, HasSubstr("PickScore"));
  EXPECT_THAT(page, Not(HasSubstr("no transcript")));
  ok({"grid", kTable, "--pick", "losses", "-n", "4"});
  page = read_file(folder / "grid-losses-4.html");
  EXPECT_THAT(page, HasSubstr("4 prompts of the test split"));
  EXPECT_THAT(page, HasSubstr("lambda-controlled below ratio-norm"));
}

TEST_F(StandIn, AGridOfThePapersIndicesOnAnotherListSaysThatTheTextsAreOthers) {
  ok(smoke_of(kTable));
  const auto outcome = place.run({"grid", kTable, "--pick", "paper"});
  if (outcome.status != 0) {
    EXPECT_THAT(outcome.err, HasSubstr("no prompt of the paper's gallery is in this cut"));
    return;
  }
  EXPECT_THAT(read_file(runs / kTable / "grid-paper.html"), HasSubstr("is not the paper"));
}

}  // namespace
}  // namespace harness::test
