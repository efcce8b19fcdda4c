#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>

#include "core/text.h"
#include "tests/harness/workplace.h"

// Scorers whose models come from folders, and the tables that are made with them.

namespace harness::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

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

/// With a backbone that draws scenes, on prompts that hardly quote anything, with both scorers.
struct SceneWorkplace : Workplace {
  SceneWorkplace() {
    write_weights(folder() / "sd35", 2);
    write_prompts(folder() / "sets");
    write_scorer(folder() / "scorers/pickscore");
  }
  std::vector<std::string> command(const std::vector<std::string>& more = {}) const {
    return with(smoke_of(kTable, {"--backbone", "sd35-medium", "--weights", "sd35", "--prompts", "sets",
                                  "--scorers", "scorers"}),
                more);
  }
};

std::string count(Workplace& place, const std::string& sql) {
  const auto outcome = place.run({"query", sql, "--format", "csv"});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  return outcome.out.substr(outcome.out.find('\n') + 1);
}

TEST(TrainPrompts, OfPickScoreArePlainSentencesAndNeverOnesToWrite) {
  SceneWorkplace place;
  const auto note = HasSubstr("each of which asks for a written text");
  const auto generated = place.run(place.command());
  ASSERT_EQ(generated.status, 0) << generated.err;
  EXPECT_THAT(generated.out, note);
  fs::create_directories(place.folder() / "mine");
  std::vector<std::string> lines;
  for (int i = 0; i < 30; ++i) lines.push_back(fmt::format("a drawing of {} trees", i));
  write_file_atomically(place.folder() / "mine/train.txt", join(lines, "\n"));
  const auto own = place.run(place.command({"--train-prompts", "mine"}));
  ASSERT_EQ(own.status, 0) << own.err;
  EXPECT_THAT(own.out, AllOf(HasSubstr("Training prompts: pickscore-user-"), Not(note)));
  lines[7] = "a painting of 3 boats";
  write_file_atomically(place.folder() / "mine/train.txt", join(lines, "\n"));
  EXPECT_THAT(refusal_of(place, place.command({"--train-prompts", "mine"})),
              HasSubstr("1 of its prompts is one of validation or test (same text): line 8"));
}

TEST(StandIn, NoFigureOfTheEmbeddedScorerIsCalledPickScoreNorComparedWithThePapers) {
  Workplace place;
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
  const auto text = place.run(smoke_of(kTable)).out;
  for (const auto& line : split(text, '\n')) {
    if (line.find("PickScore") == std::string::npos) continue;
    EXPECT_TRUE(line.find("paper") != std::string::npos || line.find("not comparable") != std::string::npos)
        << "a line that speaks of PickScore, and not of the paper's: " << line;
  }
  EXPECT_THAT(text, AllOf(HasSubstr("glyph-CLIP score \u2191"), HasSubstr("PickScore 0.8358"),
                          HasSubstr("glyph-clip v1 profile embedded"), Not(HasSubstr("| pickscore v1"))));
  EXPECT_EQ(count(place, "SELECT DISTINCT task FROM runs"), "glyph-clip\n");
  EXPECT_EQ(count(place, "SELECT DISTINCT metric FROM selections WHERE metric <> ''"), "glyph_clip\n");
  ASSERT_EQ(place.run({"report", kTable}).status, 0);
  EXPECT_THAT(read_file(place.folder() / "runs" / kTable / "report.html"), HasSubstr("not comparable"));
  EXPECT_EQ(place.run({"list", "settings", "--table", kTable}).status, 0);
  EXPECT_EQ(place.run({"compare", "ratio-norm", "lambda-controlled", "--metric", "glyph_clip"}).status, 0);
}

TEST(ValidationTable, SharesTheRunsOfTheTestTableTestsNothingAndKeepsTheRules) {
  Workplace place;
  EXPECT_EQ(job_ids(place, smoke_of(kTable), "train"),
            job_ids(place, smoke_of("sd35-pickscore-val"), "train"));
  EXPECT_TRUE(job_ids(place, smoke_of("sd35-pickscore-val"), "test").empty());
  ASSERT_EQ(place.run(smoke_of("sd35-pickscore-val")).status, 0);
  EXPECT_EQ(count(place, "SELECT count(*) FROM evaluations WHERE split = 'test'"), "0\n");
  ASSERT_EQ(place.run(smoke_of(kTable)).status, 0);
  EXPECT_EQ(count(place, "SELECT count(*) FROM runs WHERE method <> 'base'"), "2\n");
  EXPECT_EQ(count(place, "SELECT count(*) FROM evaluations WHERE split = 'test'"), "3\n");
  for (const char* table : {"sd35-pickscore-val", kTable}) {
    const auto check = place.run({"check", table});
    EXPECT_EQ(check.out.find("FAIL  "), std::string::npos) << check.out;
  }
  place.environment["HARNESS_WORKER"] = "/nonexistent";  // all is there
  EXPECT_EQ(place.run(smoke_of("sd35-pickscore-val")).status, 0);
}

TEST(ValidationTable, AfterTheTestTableIsThereWithoutAWorkerAndInTheViews) {
  Workplace place;
  ASSERT_EQ(place.run(smoke_of(kTable)).status, 0);
  place.environment["HARNESS_WORKER"] = "/nonexistent";
  ASSERT_EQ(place.run(smoke_of("sd35-pickscore-val")).status, 0);
  EXPECT_EQ(count(place,
                  "SELECT count(*) FROM v_results WHERE table_id = 'sd35-pickscore-val' AND split = "
                  "'validation' AND metric = 'glyph_clip' AND method <> 'base'"),
            "6\n");
  EXPECT_EQ(place.run({"db", "check"}).status, 0);
}

TEST(ValidationTable, ShowsEveryCheckpointWithWhatItSpent) {
  Workplace place;
  const auto table = place.json(smoke_of("sd35-pickscore-val", {"--json"}));
  ASSERT_EQ(table.at("rows").size(), 6u);
  std::map<std::string, int> selected;
  for (const auto& row : table.at("rows")) {
    EXPECT_EQ(row.at("split"), "validation");
    EXPECT_NEAR(row.at("tau").get<double>(), 0.00201007, 1e-8) << "-ln(0.99) / 5";
    selected[row.at("method")] += row.at("selected").get<bool>() ? 1 : 0;
  }
  EXPECT_EQ(selected, (std::map<std::string, int>{{"ratio-norm", 1}, {"lambda-controlled", 1}}));
  const auto text = place.run({"table", "sd35-pickscore-val"}).out;
  EXPECT_THAT(text, HasSubstr("Share of tau (%)"));
  EXPECT_THAT(text, HasSubstr(" 0.00680 ")) << "the paper's row at 80, printed 6.80e-3";
  EXPECT_THAT(text, HasSubstr(" 0.000038 ")) << "the paper's row at 40, printed 3.8e-5";
  EXPECT_THAT(text, HasSubstr("These prompts also chose the checkpoint of each run"));
  EXPECT_THAT(text, HasSubstr("2.31, 0.09, 1.66 tau")) << "what the paper's spends are of its budget";
  for (const char* format : {"latex", "csv", "html"})
    EXPECT_EQ(place.run({"table", "sd35-pickscore-val", "--format", format}).status, 0) << format;
}

TEST(ValidationTable, OfTheOcrTaskShowsTheSelectedCheckpointsAndKeepsTheRules) {
  Workplace place;
  const auto table = place.json(smoke_of("sd35-ocr-val", {"--json"}));
  EXPECT_EQ(table.at("rows").size(), 3u);
  EXPECT_EQ(table.at("rows")[0].at("split"), "validation");
  EXPECT_NEAR(table.at("rows")[0].at("paper").at("exact_match").get<double>(), 0.1094, 1e-9);
  const auto check = place.run({"check", "sd35-ocr-val"});
  EXPECT_EQ(check.out.find("FAIL  "), std::string::npos) << check.out;
}

TEST(Scorers, ARequiredOneWithoutItsFolderStopsThePlanAndNamesTheFolder) {
  SceneWorkplace place;
  fs::rename(place.folder() / "scorers/pickscore", place.folder() / "scorers/clip_score");
  EXPECT_THAT(refusal_of(place, place.command()), HasSubstr("there is no folder scorers/pickscore"));
  EXPECT_FALSE(fs::exists(place.folder() / "runs"));
  EXPECT_THAT(refusal_of(place, smoke_of(kTable, {"--backbone", "sd35-medium", "--weights", "sd35"})),
              HasSubstr("--scorers DIR"));
}

TEST(Scorers, AnOptionalOneWithoutItsFolderIsNotRunAndSaysWhereItWasLookedFor) {
  SceneWorkplace place;
  const auto table = place.run(place.command());
  ASSERT_EQ(table.status, 0) << table.err;
  EXPECT_THAT(table.out, HasSubstr("clip_score was not run: there is no folder scorers/clip_score"));
  EXPECT_EQ(count(place, "SELECT count(*) FROM metrics WHERE name = 'clip_score'"), "0\n");
}

TEST(Scorers, TheirFilesAreInTheIdentityAndInTheDryRun) {
  SceneWorkplace place;
  write_scorer(place.folder() / "scorers/clip_score");
  const auto plan = place.json(place.command({"--dry-run", "--json"}));
  const auto& files = plan.at("scorers").at("pickscore").at("files");
  EXPECT_EQ(plan.at("scorers").size(), 5u) << "OCR, JPEG size and image statistics too";
  EXPECT_EQ(files.size(), 3u) << "weights and the two configurations: " << files.dump();
  EXPECT_THAT(place.run(place.command({"--dry-run"})).out,
              AllOf(HasSubstr("Scorer pickscore v1, the training reward: "),
                    HasSubstr("Backbone sd35-medium fp32, weights sd35, sha256 ")));
  const auto before = job_ids(place, place.command(), "train");
  write_scorer(place.folder() / "scorers/clip_score", 2);
  EXPECT_EQ(job_ids(place, place.command(), "train"), before) << "it rewards nobody";
  write_scorer(place.folder() / "scorers/pickscore", 2);
  EXPECT_NE(job_ids(place, place.command(), "train"), before);
}

TEST(Scorers, ASettingChoosesTheProfileOfOneThatHasSeveral) {
  SceneWorkplace place;
  write_scorer(place.folder() / "scorers/clip_score");
  const auto before = place.command();
  const auto other = place.command({"--set", "clip_score_profile=flow-grpo"});
  EXPECT_EQ(job_ids(place, other, "train"), job_ids(place, before, "train")) << "it rewards nobody";
  EXPECT_NE(job_ids(place, other, "evaluate"), job_ids(place, before, "evaluate"));
  const auto table = place.run(other);
  ASSERT_EQ(table.status, 0) << table.err;
  EXPECT_THAT(table.out, HasSubstr("clip_score v1 profile flow-grpo"));
  EXPECT_EQ(place.run({"check", kTable}).status, 0);
  EXPECT_THAT(refusal_of(place, place.command({"--set", "clip_score_profile=flow-gpro"})),
              HasSubstr("did you mean \"flow-grpo\""));
}

TEST(Scorers, AFolderOfTheWrongLevelOrWithoutAnyIsAnError) {
  SceneWorkplace place;
  const auto refused = [&](const std::string& folder) {
    const auto outcome = place.run(smoke_of("sd35-ocr", {"--scorers", folder, "--dry-run"}));
    EXPECT_EQ(outcome.status, 2) << folder << outcome.out;
    return outcome.err;
  };
  EXPECT_THAT(refused("scorers/pickscore/"), HasSubstr("is the folder of one scorer"));
  EXPECT_THAT(refused("scorers/pickscore"), HasSubstr("/scorers\n"));
  fs::create_directories(place.folder() / "mine/gauge");
  EXPECT_THAT(refused("mine/gauge"), HasSubstr("holds no scorer"));
  write_file_atomically(place.folder() / "mine/gauge/scorer.json", "{}");
  EXPECT_THAT(refused("mine/gauge"), HasSubstr("is the folder of one scorer: it holds scorer.json"));
  EXPECT_THAT(refused("nowhere"), HasSubstr("is not a folder"));
}

TEST(Scorers, OneWhoseMetricIsReplacedByTheEmbeddedOneIsSaidToBeUnused) {
  SceneWorkplace place;
  const auto plan = place.run(smoke_of(kTable, {"--scorers", "scorers", "--dry-run"}));
  EXPECT_THAT(plan.out, HasSubstr("The scorer pickscore is there and not used"));
  EXPECT_THAT(place.run(place.command({"--dry-run"})).out, Not(HasSubstr("not used")));
}

TEST(Scorers, AreFoundInHarnessPathToo) {
  SceneWorkplace place;
  fs::create_directories(place.share() / "scorers");
  fs::rename(place.folder() / "scorers/pickscore", place.share() / "scorers/pickscore");
  const auto table = place.run(
      smoke_of(kTable, {"--backbone", "sd35-medium", "--weights", "sd35", "--prompts", "sets", "--dry-run"}));
  EXPECT_EQ(table.status, 0) << table.err;
}

TEST(Scorers, AFolderThatNobodyReadsIsAnErrorWithTheNearestName) {
  SceneWorkplace place;
  write_scorer(place.folder() / "scorers/PickScore_v1");
  const auto said = refusal_of(place, place.command());
  EXPECT_THAT(said, HasSubstr("PickScore_v1"));
  EXPECT_THAT(said, HasSubstr("\"pickscore\""));
  write_file_atomically(place.folder() / "scorers/PickScore_v1/scorer.json", "{}");
  EXPECT_THAT(place.run(place.command({"--dry-run"})).err, Not(HasSubstr("no scorer of this build")));
}

TEST(Scorers, AFolderWithoutWeightsOrWithBrokenOnesStopsThePlan) {
  SceneWorkplace place;
  const auto folder = place.folder() / "scorers/pickscore";
  fs::remove(folder / "model.safetensors");
  auto outcome = place.run(place.command());
  EXPECT_EQ(outcome.status, 2);
  EXPECT_THAT(outcome.err, HasSubstr("holds no model.safetensors"));
  write_file_atomically(folder / "model.safetensors", "not weights");
  EXPECT_EQ(place.run(place.command()).status, 2);
  write_scorer(folder);
  write_file_atomically(folder / "config.json", R"({"is": "broken"})");
  outcome = place.run(place.command());
  EXPECT_EQ(outcome.status, 2) << "the worker refuses it";
  EXPECT_THAT(outcome.err, HasSubstr("mend it"));
  EXPECT_EQ(place.run(place.command({"--dry-run"})).status, 2);
}

TEST(Scorers, AnInterruptedRunGoesOnWithTheSameFolder) {
  SceneWorkplace place;
  place.environment["HARNESS_FAKE_DELAY_US"] = "50000";
  const auto pid = place.start(place.command());
  ASSERT_TRUE(wait_until([&] {
    if (!fs::exists(place.folder() / "runs")) return false;
    for (const auto& entry : fs::recursive_directory_iterator(place.folder() / "runs")) {
      if (entry.path().filename() == "events.log") return true;
    }
    return false;
  }));
  ::kill(pid, SIGINT);
  const auto outcome = place.wait(pid);
  EXPECT_EQ(outcome.status, 130);
  EXPECT_THAT(outcome.err, HasSubstr("--scorers scorers"));
}

TEST(Scorers, DoctorSaysWhichAreThere) {
  SceneWorkplace place;
  const auto document = place.json({"doctor", "--scorers", "scorers", "--prompts", "sets", "--json"});
  std::map<std::string, Json> lines;
  for (const auto& item : document.at("findings")) lines[item.at("name")] = item;
  EXPECT_EQ(lines.at("scorer pickscore").at("found"), true);
  EXPECT_EQ(lines.at("scorer clip_score").at("found"), false);
  EXPECT_THAT(lines.at("scorer clip_score").at("hint").get<std::string>(), HasSubstr("scorers/clip_score"));
  EXPECT_EQ(lines.at("public prompts").at("found"), true);
  EXPECT_THAT(place.run({"list", "evaluators"}).out, HasSubstr("--scorers DIR: DIR/pickscore"));
}

TEST(ScenePrompts, GlyphRefusesAListThatQuotesNothing) {
  SceneWorkplace place;
  const auto said = refusal_of(place, smoke_of(kTable, {"--prompts", "sets"}));
  EXPECT_THAT(said, HasSubstr("916 of the first 1018 prompts"));
  EXPECT_THAT(said, HasSubstr("--backbone"));
  EXPECT_FALSE(fs::exists(place.folder() / "runs"));
}

TEST(ScenePrompts, TextMetricsAreOfThePromptsThatQuoteAText) {
  SceneWorkplace place;
  const auto table = place.json(place.command({"--json"}));
  for (const auto& row : table.at("rows")) {
    EXPECT_EQ(row.at("n"), 48);
    EXPECT_EQ(row.at("n_missing"), 1) << "the fake scorer fails at one position, and nowhere else";
  }
  EXPECT_EQ(count(place,
                  "SELECT DISTINCT reason FROM metrics WHERE value IS NULL AND name = 'ocr_reward' ORDER "
                  "BY reason DESC"),
            "the prompt quotes no text\nthe fake scorer fails at position 5\n");
  const auto text = place.run({"table", kTable}).out;
  EXPECT_THAT(text, HasSubstr("Text metrics are of the"));
  EXPECT_THAT(text, HasSubstr("pickscore 1 of 48. A scorer failed there"));
  EXPECT_THAT(text, HasSubstr("| PickScore \u2191"));
  EXPECT_THAT(text, Not(HasSubstr("not comparable")));
  const auto check = place.run({"check", kTable});
  EXPECT_EQ(check.out.find("FAIL  "), std::string::npos) << check.out;
}

TEST(ScenePrompts, ThePaperScaleAsksForThePublicList) {
  SceneWorkplace place;
  auto command = place.command();
  std::replace(command.begin(), command.end(), std::string("smoke"), std::string("paper"));
  EXPECT_THAT(refusal_of(place, command), HasSubstr("asks for the prompt set pickscore-public"));
}

TEST(ScenePrompts, DatasetsKnowTheTask) {
  SceneWorkplace place;
  const auto verified = place.json({"datasets", "verify", "sets", "--task", "pickscore", "--json"});
  EXPECT_EQ(verified.at("prompts"), 1024);
  EXPECT_EQ(verified.at("prompts_with_target"), 103);
  EXPECT_EQ(verified.at("known"), false);
  EXPECT_EQ(verified.at("training_set"), "ocr-train-generated");
  const auto lines = split(read_file(place.folder() / "sets/pickscore/test.txt"), '\n');
  fs::create_directories(place.folder() / "train/pickscore");
  write_file_atomically(place.folder() / "train/pickscore/train.txt", "a cat\n" + lines.at(7) + "\n");
  const auto shared =
      place.run({"datasets", "verify", "sets", "--task", "pickscore", "--train-prompts", "train", "--json"});
  EXPECT_EQ(shared.status, 1) << "the prompt at 7 is the training prompt at 1";
  EXPECT_EQ(parse_json(shared.out, "stdout").at("shared_texts"), 1);
  ASSERT_EQ(place.run({"datasets", "import", "sets", "--task", "pickscore"}).status, 0);
  EXPECT_THAT(place.run({"datasets", "list"}).out, HasSubstr("pickscore-user-"));
}

TEST(ScoreGrid, ShowsWinsNearTiesLossesAndFailuresUnlessItIsToldOtherwise) {
  SceneWorkplace place;
  ASSERT_EQ(place.run(place.command()).status, 0);
  const auto folder = place.folder() / "runs" / kTable;
  auto page = read_file(folder / "grid.html");
  for (const char* group : {"Wins", "Near-ties", "Losses", "Weakest for all methods"})
    EXPECT_THAT(page, HasSubstr(group));
  EXPECT_THAT(page, HasSubstr("12 prompts of the test split"));
  EXPECT_THAT(page, HasSubstr("PickScore"));
  EXPECT_THAT(page, Not(HasSubstr("no transcript")));
  ASSERT_EQ(place.run({"grid", kTable, "--pick", "losses", "-n", "4"}).status, 0);
  page = read_file(folder / "grid-losses-4.html");
  EXPECT_THAT(page, HasSubstr("4 prompts of the test split"));
  EXPECT_THAT(page, HasSubstr("lambda-controlled below ratio-norm"));
}

TEST(ScoreGrid, OfThePapersIndicesOnAnotherListSaysThatTheTextsAreOthers) {
  Workplace place;
  ASSERT_EQ(place.run(smoke_of(kTable)).status, 0);
  const auto outcome = place.run({"grid", kTable, "--pick", "paper"});
  if (outcome.status != 0) {
    EXPECT_THAT(outcome.err, HasSubstr("no prompt of the paper's gallery is in this cut"));
    return;
  }
  EXPECT_THAT(read_file(place.folder() / "runs" / kTable / "grid-paper.html"), HasSubstr("is not the paper"));
}

}  // namespace
}  // namespace harness::test
