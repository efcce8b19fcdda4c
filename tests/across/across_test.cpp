// `harness compare` of rows of several experiments, databases and workspaces, through the program itself.
#include <fmt/format.h>

#include "core/sha256.h"
#include "tests/harness/workplace.h"

namespace harness::test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

const Words kSeeds = {"--seeds", "42,43,44"};

Json compared(Workplace& place, const Words& arguments) {
  return place.json(with(with({"compare"}, arguments), {"--json"}));
}

/// Experiments of one workspace, `runs`, all but the fifth of three runs a method at a scale that judges
/// methods, and a second workspace, `other`, with an experiment like the first.
Workplace& finished() {
  static Workplace place;
  static const bool is_made = [] {
    place.let_smoke_judge();
    place.write("slow.json", {{"extends", "sd35-ocr"}, {"id", "slow"}, {"settings", {{"lr", 1e-6}}}});
    place.ok(smoke(kSeeds));                                               // 1
    place.ok(smoke(with(kSeeds, {"--set", "eval_steps=20"})));             // 2: drawn otherwise
    place.ok(smoke_of("slow.json", kSeeds));                               // 3: trained otherwise
    place.ok(smoke(with(kSeeds, {"--methods", "flow-grpo"})));             // 4: nothing but the method
    place.ok(smoke({"--seeds", "44,45", "--methods", "flow-grpo,dual"}));  // 5: one seed of the others'
    place.ok(smoke({"--seeds", "50,51", "--methods", "dual"}));            // 6: none of them
    place.ok(smoke(with(kSeeds, {"--out", "other"})));
    return true;
  }();
  EXPECT_TRUE(is_made);
  return place;
}

/// The differences of a document by what they are, as far as they keep a verdict from speaking of methods.
Words obstacles(const Json& document) {
  Words found;
  for (const auto& difference : document.at("differences")) {
    if (difference.at("allows") != "methods") found.push_back(difference.at("what"));
  }
  return found;
}

TEST(Across, RowsOfOneExperimentAreComparedAsItsTableComparesThem) {
  auto& place = finished();
  const Words metrics = {"--metric", "all"};
  const auto today = compared(place, with({"ratio-norm", "dual", "base", "--experiment", "1"}, metrics));
  EXPECT_EQ(compared(place, with({"1:ratio-norm", "1:dual", "1:base"}, metrics)), today);
  EXPECT_EQ(compared(place, with({"runs:1:ratio-norm", "1:dual", "runs:1:base"}, metrics)), today);
  EXPECT_EQ(compared(place, with({"with:1:ratio-norm", "1:dual", "1:base", "--with", "runs"}, metrics)),
            today);
}

TEST(Across, EveryComparisonSaysWhatItsRowsAreOf) {
  auto& place = finished();
  const auto table = place.json({"table", "--experiment", "3", "--json"});
  EXPECT_EQ(table.at("experiment"), 3);
  EXPECT_EQ(table.at("units").at("exact_match"), "percent");
  EXPECT_EQ(table.at("units").at("ocr_reward"), "fraction");
  const auto within = compared(place, {"3:ratio-norm", "3:dual"});
  EXPECT_EQ(within.at("experiment"), 3);
  EXPECT_EQ(within.at("table"), "slow");
  EXPECT_EQ(within.at("signature"), table.at("signature"));
  const auto across = compared(place, {"1:dual", "3:dual"});
  EXPECT_TRUE(across.at("experiment").is_null());
  EXPECT_EQ(across.at("rows").at("1:dual").at("table"), "sd35-ocr");
  const auto& other = across.at("rows").at("3:dual");
  EXPECT_EQ(other.at("experiment"), 3);
  EXPECT_EQ(other.at("row"), "dual");
  EXPECT_EQ(other.at("signature"), table.at("signature"));
}

TEST(Across, ThreeRunsThatDifferInNothingButTheMethodAllowAVerdictOnTheMethods) {
  auto& place = finished();
  const auto document =
      compared(place, {"1:ratio-norm", "4:flow-grpo", "--metric", "ocr_reward,exact_match"});
  EXPECT_THAT(obstacles(document), IsEmpty());
  for (const auto& c : document.at("comparisons")) {
    EXPECT_EQ(c.at("claim"), "methods");
    EXPECT_EQ(c.at("runs").at("n"), 3);
    EXPECT_EQ(c.at("unequal_conditions"), false);
    EXPECT_TRUE(c.at("validation_delta").is_number());
  }
  EXPECT_EQ(document.at("holm_family").size(), 2U) << "what was asked for";
  EXPECT_EQ(document.at("pairing").at(0).at("prompts_same_noise"), 48);
  place.ok({"compare", "1:ratio-norm", "4:flow-grpo", "--claim", "methods"},
           {"4:flow-grpo against 1:ratio-norm: ", "Holm: over the one difference asked for here"});
}

TEST(Across, IsTheComparisonThatOneTableOfBothWouldHaveMade) {
  Workplace place;
  place.let_smoke_judge();
  place.ok(smoke(with(kSeeds, {"--methods", "ratio-norm"})));
  place.ok(smoke(with(kSeeds, {"--methods", "dual"})));
  const auto across = compared(place, {"1:ratio-norm", "2:dual", "--metric", "exact_match"});
  place.ok(smoke(with(kSeeds, {"--methods", "ratio-norm,dual"})));
  const auto within = compared(place, {"3:ratio-norm", "3:dual", "--metric", "exact_match"});
  const auto &a = across.at("comparisons").at(0), &b = within.at("comparisons").at(0);
  for (const char* field : {"n", "n_missing", "clusters", "delta", "ci95", "ci95_seeds", "runs", "wins",
                            "ties", "losses", "p_value", "tests", "claim", "validation_delta", "note"})
    EXPECT_EQ(a.at(field), b.at(field)) << field;
  // Now one table has them both, and a fuller one after it: the names that were typed do not choose.
  for (const auto& rows :
       {Words{"1:ratio-norm", "2:dual"}, {"2:dual", "1:ratio-norm"}, {"3:dual", "1:ratio-norm"}})
    EXPECT_EQ(compared(place, with(rows, {"--metric", "exact_match"})).at("experiment"), 3);
  place.ok(smoke(kSeeds));
  const auto judged = [&](const Words& rows) {
    return compared(place, with(rows, {"--metric", "ocr_reward"})).at("comparisons").at(0).at("p_holm");
  };
  EXPECT_EQ(judged({"1:ratio-norm", "4:dual"}), judged({"4:ratio-norm", "2:dual"}));
  EXPECT_EQ(judged({"1:ratio-norm", "3:dual"}), judged({"4:ratio-norm", "4:dual"}));
  place.ok({"compare", "3:ratio-norm", "3:dual"}, {"Experiment 4 holds these runs and more"});
}

TEST(Across, OtherTrainingSettingsLeaveTheseCheckpointsAlone) {
  auto& place = finished();
  const auto document = compared(place, {"1:ratio-norm", "3:dual", "--metric", "all"});
  EXPECT_THAT(obstacles(document), ElementsAre("training setting lr"));
  const auto lr = entry(document.at("differences"), {{"what", "training setting lr"}});
  EXPECT_EQ(lr.at("method"), 1e-6);
  EXPECT_EQ(lr.at("row"), "3:dual");
  EXPECT_EQ(lr.at("refused_without_anyway"), false);
  for (const auto& c : document.at("comparisons")) {
    EXPECT_EQ(c.at("claim"), "checkpoints");
    EXPECT_EQ(c.at("resolved"), false);
    EXPECT_EQ(c.at("unequal_conditions"), false);
  }
  place.ok({"compare", "1:ratio-norm", "3:dual"},
           {"training setting lr", "no statement about the methods",
            "not the methods: more than the method differs between them",
            "These checkpoints of 3:dual and 1:ratio-norm: "});
  place.fails(2, {"compare", "1:ratio-norm", "3:dual", "--claim", "methods"},
              {"more than the method differs between 1:ratio-norm and 3:dual: training setting lr: "});
}

TEST(Across, TheStartingWeightsHaveNoTrainingThatCouldDiffer) {
  const auto document = compared(finished(), {"1:base", "3:dual", "1:dual"});
  EXPECT_THAT(obstacles(document), IsEmpty());
  EXPECT_EQ(entry(document.at("comparisons"), {{"method", "3:dual"}}).at("claim"), "methods");
}

TEST(Across, ImagesThatWereDrawnOtherwiseAreRefusedWithEveryDifference) {
  auto& place = finished();
  for (const char* method : {"2:dual", "2:ratio-norm"}) {
    place.fails(
        2, {"compare", "1:dual", method},
        {fmt::format("1:dual and {} were not evaluated alike: evaluation setting eval_steps: 10 and 20",
                     method),
         "--anyway compares these checkpoints' scores all the same"});
  }
}

TEST(Across, ComparedAnywayTheyAreMarkedAndNothingIsBetter) {
  auto& place = finished();
  const Words asked = {"1:base", "2:dual", "2:ratio-norm", "--metric", "all", "--anyway"};
  const auto document = compared(place, asked);
  const auto steps = entry(document.at("differences"), {{"what", "evaluation setting eval_steps"}});
  EXPECT_EQ(steps.at("baseline"), 10);
  EXPECT_EQ(steps.at("method"), 20);
  EXPECT_EQ(steps.at("refused_without_anyway"), true);
  for (const auto& c : document.at("comparisons")) {
    EXPECT_EQ(c.at("unequal_conditions"), true);
    EXPECT_EQ(c.at("claim"), "checkpoints");
    EXPECT_EQ(c.at("resolved"), false);
    EXPECT_THAT(c.at("verdict").get<std::string>(), HasSubstr("under unequal conditions"));
  }
  place.ok(with({"compare"}, asked), {"scores not comparable", "under unequal conditions",
                                      "not the methods: they were not evaluated alike"});
  EXPECT_THAT(place.run(with({"compare"}, asked)).out,
              AllOf(Not(HasSubstr("better")), Not(HasSubstr("worse"))));
}

TEST(Across, SeedsThatOneSideLacksAreNamedAndLeftOut) {
  auto& place = finished();
  const auto document = compared(place, {"1:ratio-norm", "5:flow-grpo"});
  const auto& pairing = document.at("pairing").at(0);
  EXPECT_EQ(pairing.at("seeds"), Json({44}));
  EXPECT_EQ(pairing.at("seeds_only_baseline"), Json({42, 43}));
  EXPECT_EQ(pairing.at("seeds_only_method"), Json({45}));
  EXPECT_EQ(document.at("comparisons").at(0).at("claim"), "checkpoints");
  place.ok({"compare", "1:ratio-norm", "5:flow-grpo"},
           {"Seeds that both have: seed 44; seeds 42, 43 only in 1:ratio-norm; seed 45 only in 5:flow-grpo"});
  place.fails(
      2, {"compare", "1:ratio-norm", "5:flow-grpo", "--claim", "methods"},
      {"needs 3 training runs of each with seeds that both have, and 1:ratio-norm and 5:flow-grpo have 1"});
}

TEST(Across, WithoutACommonSeedNothingIsPairedUnlessAnyway) {
  auto& place = finished();
  place.fails(2, {"compare", "1:ratio-norm", "6:dual"}, {"seeds: [42,43,44] and [50,51]"});
  const auto document = compared(place, {"1:ratio-norm", "6:dual", "--anyway"});
  const auto& pairing = document.at("pairing").at(0);
  EXPECT_EQ(pairing.at("seeds_in_order"), Json({{42, 50}, {43, 51}}));
  EXPECT_EQ(pairing.at("prompts_same_noise"), 0);
  EXPECT_EQ(document.at("comparisons").at(0).at("claim"), "checkpoints");
  place.ok({"compare", "1:ratio-norm", "6:dual", "--anyway"},
           {"Seeds: none that both have, paired in order: 42 with 50, 43 with 51. No noise is shared."});
}

TEST(Across, ARowOfTheBaselinesOwnExperimentIsJudgedInItsTable) {
  auto& place = finished();
  const auto document = compared(place, {"1:ratio-norm", "1:dual", "4:flow-grpo"});
  auto own = document.at("comparisons").at(0);
  const auto alone = compared(place, {"1:ratio-norm", "1:dual"}).at("comparisons").at(0);
  EXPECT_EQ(own.at("p_holm"), alone.at("p_holm"));
  EXPECT_EQ(own.at("verdict"), alone.at("verdict"));
  EXPECT_EQ(document.at("holm_family").size(), 25U);
  EXPECT_EQ(document.at("comparisons").at(1).at("method"), "4:flow-grpo");
}

TEST(Across, APairThatItsTableDoesNotShowIsJudgedAlikeBesideARowOfAnotherExperiment) {
  auto& place = finished();
  const auto alone = compared(place, {"1:dual", "1:lambda-controlled"}).at("comparisons").at(0);
  const auto document = compared(place, {"1:dual", "1:lambda-controlled", "4:flow-grpo"});
  const auto beside = document.at("comparisons").at(0);
  for (const char* field : {"p_value", "p_holm", "holm_over", "verdict"})
    EXPECT_EQ(beside.at(field), alone.at(field)) << field;
  EXPECT_EQ(document.at("comparisons").at(1).at("holm_over"), document.at("holm_family").size() + 2 - 5)
      << "the table's 20 questions, of which five are asked twice, and the two that are asked here";
  place.ok(
      {"compare", "1:dual", "1:lambda-controlled", "4:flow-grpo"},
      {"all pairs of its rows in the same metric", "Those to rows of other experiments are judged over"});
}

TEST(Across, ARowWithoutANumberIsOfTheExperimentThatTheOptionsChoose) {
  auto& place = finished();
  const auto document = compared(place, {"3:ratio-norm", "dual", "--experiment", "1"});
  EXPECT_EQ(document.at("baseline"), "3:ratio-norm");
  EXPECT_EQ(document.at("comparisons").at(0).at("method"), "1:dual");
}

/// Everything in a folder with its checksum, but for what SQLite keeps beside a database while it is read.
std::map<std::string, std::string> contents(const fs::path& folder) {
  std::map<std::string, std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    const auto name = entry.path().filename().string();
    if (entry.is_regular_file() && !name.ends_with("-shm") &&
        !(name.ends_with("-wal") && entry.file_size() == 0))
      files[entry.path().string()] = sha256_file(entry.path());
  }
  return files;
}

TEST(Across, RowsOfACopyAreJudgedInTheTableThatHasTheirRunsAndTheCopyIsOnlyRead) {
  auto& place = finished();
  const auto before = contents(place.folder() / "other");
  const auto within = compared(place, {"1:ratio-norm", "1:dual"});
  for (const Words& asked : {Words{"1:ratio-norm", "with:dual", "--with", "other"},
                             {"1:ratio-norm", "with:1:dual", "--with", "other/results.sqlite"},
                             {"runs:1:ratio-norm", "other:1:dual"},
                             {"other:1:ratio-norm", "1:dual"}}) {
    const auto document = compared(place, asked);
    EXPECT_EQ(document.at("comparisons"), within.at("comparisons")) << asked[1];
    EXPECT_EQ(document.at("experiment"), 1);
  }
  EXPECT_EQ(contents(place.folder() / "other"), before);
}

TEST(Across, TheSameRunsUnderTwoNamesAreNoComparison) {
  auto& place = finished();
  place.fails(2, {"compare", "1:dual", "other:dual"},
              {"1:dual and other:1:dual are the same evaluations of the same runs"});
}

/// A set of 20 prompts of which the first 4 are for validation; of the others 6 have the text of an earlier
/// one.
void write_prompts(Workplace& place, const std::string& folder, int first) {
  std::string lines;
  for (int i = 0; i < 20; ++i)
    lines += fmt::format("a sign that reads \"{} {}\"\n", i < 4 ? folder : "shop", first + i % 10);
  place.write_text(folder + "/ocr/test.txt", lines);
}

TEST(Across, OnlyPromptsThatBothHaveAreComparedAndTheOthersCounted) {
  Workplace place;
  place.let_smoke_judge();
  place.write("mine.json", {{"extends", "sd35-ocr"},
                            {"id", "mine"},
                            {"reproduces", ""},
                            {"methods", {"ratio-norm", "dual"}},
                            {"prompts", {{"first", 20}}},
                            {"split", {{"seed", nullptr}, {"take", nullptr}, {"first", 4}}}});
  write_prompts(place, "near", 0);
  write_prompts(place, "far", 3);
  for (const char* set : {"near", "far"}) place.ok(smoke_of("mine.json", {"--prompts", set}));
  // Tested are of near shop 4 ... 9 and 0 ... 9, of far 7 ... 12 and 3 ... 12: both have 3 ... 9, and 7 ... 9
  // again.
  const auto document = compared(place, {"1:ratio-norm", "2:dual"});
  const auto& pairing = document.at("pairing").at(0);
  EXPECT_EQ(pairing.at("prompts"), 10);
  EXPECT_EQ(pairing.at("prompts_only_baseline"), 6);
  EXPECT_EQ(pairing.at("prompts_only_method"), 6);
  const auto& c = document.at("comparisons").at(0);
  EXPECT_EQ(c.at("n").get<int>() + c.at("n_missing").get<int>(), 10);
  EXPECT_EQ(c.at("clusters"), 6) << "texts; of a seventh the fake scorer fails";
  EXPECT_EQ(c.at("claim"), "checkpoints");
  EXPECT_THAT(obstacles(document), ::testing::Contains("prompt set"));
  place.ok({"compare", "1:ratio-norm", "2:dual"},
           {"Compared: 10 prompts that both have; 6 only in 1:ratio-norm; 6 only in 2:dual",
            "No noise is shared."});
}

TEST(Across, AScorerThatGivesAnotherMetricMakesNoDifference) {
  Workplace place;
  place.ok(smoke({"--methods", "ratio-norm"}));
  auto registry = read_json(place.share() / "registry.json");
  for (auto& evaluator : registry.at("evaluators")) {
    if (evaluator.at("name") == "jpeg") evaluator.at("identity").at("version") = "another";
  }
  place.write("share/registry.json", registry);
  place.ok(smoke({"--methods", "dual"}));
  EXPECT_THAT(obstacles(compared(place, {"1:ratio-norm", "2:dual", "--metric", "ocr_reward,edge_density"})),
              IsEmpty());
  place.fails(2, {"compare", "1:ratio-norm", "2:dual", "--metric", "jpeg_kb"},
              {"scorer jpeg version: fake and another"});
  const auto both = compared(place, {"1:ratio-norm", "2:dual", "--metric", "ocr_reward,jpeg_kb", "--anyway"});
  EXPECT_EQ(entry(both.at("comparisons"), {{"metric", "jpeg_kb"}}).at("unequal_conditions"), true);
  EXPECT_EQ(entry(both.at("comparisons"), {{"metric", "ocr_reward"}}).at("unequal_conditions"), false);
}

TEST(Across, WhatCannotBeComparedIsRefusedWithWhatToDo) {
  auto& place = finished();
  fs::create_directories(place.folder() / "empty");
  place.write_text("notes.txt", "no database");
  for (const auto& [name, version] : std::map<std::string, int>{{"old", 1}, {"new", 99}}) {
    fs::create_directories(place.folder() / name);
    fs::copy_file(place.folder() / "other/results.sqlite", place.folder() / name / "results.sqlite",
                  fs::copy_options::overwrite_existing);
    place.sql(fmt::format("PRAGMA user_version = {}", version), name + "/results.sqlite");
  }
  const std::vector<std::pair<Words, Words>> refusals = {
      {{"1:dual", "9:dual"},
       {"9:dual: runs/results.sqlite holds no completed experiment 9", "it has 1, 2, 3"}},
      {{"1:dual", "3:ratio-nrom"}, {R"(experiment 3 has no row "ratio-nrom"; did you mean "ratio-norm"?)"}},
      {{"1:dual", "with:duel", "--with", "other"}, {R"(no row "duel"; did you mean "dual"?)"}},
      {{"1:dual", "3:dual", "3:dual"}, {"3:dual is named twice"}},
      {{"1:dual", "runs:1:dual"}, {"1:dual is named twice"}},
      {{"1:dual", "3:"}, {"3:: names no row"}},
      {{"1:dual", "with:dual"}, {"give --with DIR"}},
      {{"1:dual", "3:dual", "--with", "other"}, {"--with: no row is of that database; name one: with:ROW"}},
      {{"1:dual", "with:dual", "--with", "nowhere"}, {"there is no results database"}},
      {{"1:dual", "with:dual", "--with", "empty"}, {"empty: holds no results.sqlite"}},
      {{"1:dual", "with:dual", "--with", "notes.txt"}, {"notes.txt: is not an SQLite database"}},
      {{"1:dual", "old:dual"}, {"has schema version 1, this program needs", "here it is only read"}},
      {{"1:dual", "new:dual"}, {"has schema version 99, this program knows"}},
      {{"1:dual", "./nowhere:dual"}, {"there is no results database"}},
      {{"1:dual", "othr:dual"}, {R"("othr" is neither the number of an experiment nor a workspace)"}},
      {{"1:dual", "3:dual", "--metric", "cre"}, {R"(did you mean "cer"?)"}},
      {{"1:dual", "3:dual", "--split", "tset"}, {R"(did you mean "test"?)"}},
      {{"1:dual", "3:dual", "--effect", "2"}, {"ocr_reward lies between 0 and 1"}},
      {{"1:dual", "3:dual", "--table", "sd35-ocr"}, {"every row names its experiment"}}};
  for (const auto& [arguments, texts] : refusals) {
    const auto outcome = place.fails(2, with({"compare"}, arguments), texts);
    EXPECT_EQ(outcome.out, "") << testing::PrintToString(arguments);
  }
}

TEST(Across, AMetricThatOneSideLacksSaysWhich) {
  Workplace place;
  place.ok(smoke({"--methods", "ratio-norm"}));
  place.write("narrow.json", {{"extends", "sd35-ocr"},
                              {"id", "narrow"},
                              {"reproduces", ""},
                              {"claims", Json::array()},
                              {"columns", {{{"name", "ocr_reward"}}}},
                              {"metrics", {{"required", {"ocr_reward"}}, {"optional", Json::array()}}}});
  place.ok(smoke_of("narrow.json", {"--methods", "dual"}));
  place.fails(2, {"compare", "1:ratio-norm", "2:dual", "--metric", "cer"},
              {"cer was measured of 1:ratio-norm, and not of 2:dual; all have ocr_reward"});
}

}  // namespace
}  // namespace harness::test
