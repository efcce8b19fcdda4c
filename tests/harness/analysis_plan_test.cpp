#include <fmt/format.h>

#include "tests/harness/workplace.h"

// Plans through the real program: what was asked before the tests is confirmatory, whatever is asked
// afterwards is not.

namespace harness::test {
namespace {

using ::testing::IsEmpty;

/// Five training runs that are all better than the base model, and copies of that workspace.
class Plans : public SmokeTest {
 protected:
  Plans() {
    place.let_smoke_judge();
    place.environment["HARNESS_FAKE_HACK"] = "darken";
  }

  void make_five() {
    static Workplace made;
    if (!fs::exists(made.folder() / "runs")) {
      made.let_smoke_judge();
      made.environment["HARNESS_FAKE_HACK"] = "darken";
      made.ok(smoke({"--seeds", "42..46"}));
    }
    fs::copy(made.folder() / "runs", runs, fs::copy_options::recursive | fs::copy_options::copy_symlinks);
  }

  /// dual against the base model in the reward.
  static Json dual_of(const Json& table) {
    return entry(table.at("comparisons"),
                 {{"baseline", "base"}, {"method", "dual"}, {"metric", "ocr_reward"}});
  }
  Json table_of(const Words& more) { return place.json(with({"table"}, with(more, {"--format", "json"}))); }

  /// Nothing is claimed, in any format.
  void expect_exploratory(const Words& table, const std::string& why) {
    const auto document = table_of(table);
    for (const auto& c : document.at("comparisons")) {
      EXPECT_EQ(c.at("resolved"), false) << c;
      EXPECT_TRUE(c.at("p_adjusted").is_null()) << c;
    }
    EXPECT_EQ(dual_of(document).at("exploratory"), true);
    EXPECT_EQ(dual_of(document).at("verdict"), "exploratory");
    EXPECT_EQ(dual_of(document).at("level"), 0.05);
    EXPECT_THAT(document.at("plan").dump(), HasSubstr(why));
    for (const char* format : {"md", "latex", "csv", "html"}) {
      const auto text = ok(with({"table"}, with(table, {"--format", format}))).out;
      EXPECT_THAT(text, Not(HasSubstr("| better |"))) << format;
      EXPECT_THAT(text, Not(HasSubstr(",better,"))) << format;
      EXPECT_THAT(text, HasSubstr("xploratory")) << format;
    }
  }

  /// A table file that extends the main one.
  std::string table_file(const std::string& id, Json changes) {
    changes.update({{"extends", "sd35-ocr"}, {"id", id}});
    place.write(id + ".json", changes);
    return id + ".json";
  }
};

TEST_F(Plans, AreRecordedBeforeTheTestsAndStandWithEveryTable) {
  make_five();
  const auto plans = place.json({"plan", "--json"});
  ASSERT_EQ(plans.size(), 1u);
  const auto digest = plans.at(0).at("name").get<std::string>();
  EXPECT_EQ(plans.at(0).at("seeds"), Json({42, 43, 44, 45, 46}));
  EXPECT_EQ(plans.at(0).at("looks"), Json({5}));
  EXPECT_EQ(plans.at(0).at("runs"), 5);
  EXPECT_EQ(plans.at(0).at("opened"), Json::array());
  EXPECT_LT(place.csv("SELECT created FROM plans"), place.csv("SELECT min(finished) FROM evaluations"));
  const auto table = table_of({"sd35-ocr"});
  EXPECT_EQ(table.at("plan").at("digest"), digest);
  EXPECT_EQ(dual_of(table).at("verdict"), "better");
  EXPECT_LT(dual_of(table).at("level"), 0.05);
  EXPECT_GT(dual_of(table).at("ci95").at(0), 0) << "at the level that judged it";
  EXPECT_LT(dual_of(table).at("p_value"), dual_of(table).at("p_adjusted"));
  for (const char* format : {"md", "latex", "csv", "html"})
    EXPECT_THAT(ok({"table", "sd35-ocr", "--format", format}).out, HasSubstr(digest)) << format;
  const auto compared = place.json({"compare", "base", "dual", "--json"});
  EXPECT_EQ(compared.at("plan").at("digest"), digest);
  EXPECT_EQ(compared.at("comparisons").at(0).at("verdict"), "better");
  // The same command again asks the same.
  ok(smoke({"--seeds", "42..46"}));
  EXPECT_EQ(place.count("plans"), 1);
}

TEST_F(Plans, FewerSeedsOfOneAreAChoiceAmongItsRuns) {
  make_five();
  ok(smoke({"--seeds", "43..46"}));
  EXPECT_EQ(place.count("plans"), 1);
  expect_exploratory({"2"}, "a choice of 4 of 5 planned runs");
  ok({"compare", "base", "dual", "--experiment", "2"}, {"exploratory in ocr_reward", "a choice of 4 of 5"});
  EXPECT_THAT(place.csv("SELECT method FROM alarms WHERE reproduction_id = 2"), Not(HasSubstr("dual")));
}

TEST_F(Plans, TheFirstSeedsOfOneAreNoLookUnlessItIsPlanned) {
  make_five();
  ok(smoke({"--seeds", "42..45"}), {"no look is planned at this number"});
  const auto c = dual_of(table_of({"2"}));
  EXPECT_EQ(c.at("exploratory"), false);
  EXPECT_EQ(c.at("resolved"), false);
}

TEST_F(Plans, SeedsBeyondOneAreAStudyOfTheirOwn) {
  make_five();
  ok(smoke({"--seeds", "42..51"}), {}, {"the plan is of seeds 47..51 alone"});
  expect_exploratory({"2"}, "more than was planned together");
  ok(smoke({"--seeds", "47..51"}), {"Study 2 of some of these rows; before it:"});
  EXPECT_EQ(dual_of(table_of({"3"})).at("exploratory"), false);
  EXPECT_EQ(place.count("plans"), 2);
}

TEST_F(Plans, AnotherTableFileOnTheSameRunsGivesNoSmallerPAndNewQuestionsAreExploratory) {
  make_five();
  const auto whole = dual_of(table_of({"sd35-ocr"}));
  const auto fewer = table_file("two-rows", {{"methods", {"ratio-norm", "dual"}}});
  ok(smoke_of(fewer, {"--seeds", "42..46"}));
  const auto same = dual_of(table_of({"two-rows"}));
  EXPECT_GE(same.at("p_adjusted"), whole.at("p_adjusted"));
  EXPECT_EQ(same.at("p_value"), whole.at("p_value"));
  // A pair that nobody planned: another baseline.
  ok(smoke({"--seeds", "42..46", "--baseline", "dual"}));
  const auto other = table_of({"3"});
  const auto asked = entry(other.at("comparisons"), {{"baseline", "dual"}, {"method", "lambda-controlled"}});
  EXPECT_EQ(asked.at("exploratory"), true);
  EXPECT_EQ(place.count("plans"), 1) << "nothing of it is untested";
}

TEST_F(Plans, OneOfOtherCheckpointsOfTheSameRunsIsExploratory) {
  make_five();
  const auto other = table_file(
      "by-cer", {{"selection", {{"split", "validation"}, {"metric", "exact_match"}, {"rule", "max-mean"}}}});
  ok(smoke_of(other, {"--seeds", "42..46"}));
  expect_exploratory({"by-cer"}, "Exploratory");
}

TEST_F(Plans, ARunThatIsRemovedStaysTested) {
  make_five();
  const auto run = place.rows("SELECT id FROM runs WHERE method = 'dual' AND seed = 45").at(0).at("id");
  ok({"runs", "rm", run, "--force", "--yes"});
  EXPECT_EQ(place.count("opened_runs"), 1);
  ok(smoke({"--seeds", "42,43,44,46"}));
  expect_exploratory({"sd35-ocr"}, "a choice of 4 of 5 planned runs");
  // Trained again it is the run of the plan.
  ok(smoke({"--seeds", "42..46"}));
  EXPECT_EQ(dual_of(table_of({"sd35-ocr", "--seeds", "42..46"})).at("verdict"), "better");
  ok({"db", "rebuild"});
  EXPECT_EQ(place.count("opened_runs"), 1);
  EXPECT_EQ(place.count("plans"), 1);
}

TEST_F(Plans, TakeSettingsWithinFivePercentOfTestedOnesForTheSameMethod) {
  make_five();
  const Words near = {"--set", "adam_eps=1.0001e-8"};
  fails(2, smoke(with({"--seeds", "42..46", "--plan-runs", "8"}, near)), {"they count as the same method"});
  ok(smoke(with({"--seeds", "42..46"}, near)), {},
     {"note: seeds 42..46 of dual, lambda-controlled, ratio-norm have been tested with settings within 5 % of these "
      "(adam_eps 1e-08, here 1.0001e-08): "
      "they count as the same method, and what is asked of them is exploratory"});
  expect_exploratory({"2"}, "they count as the same method");
  // New seeds are a study of their own, and so are other settings.
  ok(smoke(with({"--seeds", "42..51", "--plan-only"}, near)), {}, {"the plan is of seeds 47..51 alone"});
  ok(smoke({"--seeds", "42..46", "--set", "adam_eps=1.1e-8"}));
  EXPECT_EQ(dual_of(table_of({"sd35-ocr"})).at("verdict"), "better");
}

TEST_F(Plans, OfSeedsThatAreTrainedOutOfTheirOrderAreWhatTheyWereTypedAs) {
  ok(smoke({"--seeds", "46,42,43,44,45"}));
  EXPECT_EQ(place.json({"plan", "--json"}).at(0).at("seeds"), Json({46, 42, 43, 44, 45}));
  EXPECT_EQ(dual_of(table_of({"sd35-ocr"})).at("verdict"), "better");
}

TEST_F(Plans, SpendTheLevelOverTheirLooksAndAClaimStays) {
  ok(smoke({"--seeds", "42..44", "--plan-runs", "6", "--looks", "3,5,6"}),
     {"3 of 6 planned runs per row, looks at 3, 5, 6"}, {"looks at 3, 5, 6 runs"});
  EXPECT_NEAR(place.json({"plan", "--json"}).at(0).at("level_spent").get<double>(), .0056, 1e-4);
  ok(smoke({"--seeds", "42..46"}), {"5 of 6 planned runs per row"});
  const auto five = dual_of(table_of({"sd35-ocr"}));
  ok(smoke({"--seeds", "42..47"}), {"6 of 6 planned runs per row"});
  const auto six = dual_of(table_of({"sd35-ocr"}));
  EXPECT_EQ(place.count("plans"), 1);
  if (five.at("verdict") == "better") {
    EXPECT_THAT(six.at("verdict").get<std::string>(), testing::StartsWith("better"));
  }
  EXPECT_LE(six.at("p_adjusted"), five.at("p_adjusted")) << "of the looks so far the smallest";
}

TEST_F(Plans, AreNotChangedOnceTheirRunsAreTested) {
  make_five();
  fails(2, smoke({"--seeds", "42..46", "--plan-runs", "8"}), {"--plan-runs", "have been tested"});
  fails(2, smoke({"--seeds", "42..46", "--looks", "3,5"}), {"have been tested"});
  EXPECT_EQ(place.count("plans"), 1);
  fails(2, smoke({"--seeds", "50..52", "--plan-runs", "2"}),
        {"--plan-runs", "3 seeds are given, and 2 runs are planned"});
  fails(2, smoke({"--seeds", "50..52", "--looks", "3,5"}), {"--looks", "beyond the 3 that are planned"});
  fails(2, smoke({"--seeds", "50..52", "--looks", "3,x"}), {"--looks", "is not a number of runs"});
}

TEST_F(Plans, GiveWayToALaterOneWhileNothingOfThemIsTested) {
  ok(smoke({"--seeds", "42..44", "--plan-only"}), {}, {"recorded"});
  EXPECT_EQ(place.count("evaluations"), 0);
  ok(smoke({"--seeds", "42..46"}));
  const auto plans = place.json({"plan", "--json"});
  ASSERT_EQ(plans.size(), 2u);
  EXPECT_EQ(plans.at(0).at("superseded"), true);
  EXPECT_EQ(plans.at(1).at("superseded"), false);
  EXPECT_EQ(dual_of(table_of({"sd35-ocr"})).at("verdict"), "better");
}

TEST_F(Plans, OfTwoTablesOfTheSameRunsAreOneFamily) {
  const auto other = table_file("again", {{"baseline", "dual"}});
  ok(smoke({"--seeds", "42..46", "--plan-only"}));
  ok(smoke_of(other, {"--seeds", "42..46", "--plan-only"}));
  ok(smoke({"--seeds", "42..46"}));
  const auto compared = place.json({"compare", "base", "dual", "--json"});
  const auto together = compared.at("comparisons").at(0).at("family_size").get<int>();
  begin_anew();
  place.environment["HARNESS_FAKE_HACK"] = "darken";
  ok(smoke({"--seeds", "42..46"}));
  const auto alone = place.json({"compare", "base", "dual", "--json"});
  EXPECT_GT(together, alone.at("comparisons").at(0).at("family_size").get<int>());
}

TEST_F(Plans, TravelInArchivesAndWithoutOneAnArchiveClaimsNothing) {
  make_five();
  ok({"export", "1", "-o", "whole.tar.zst"});
  ok(smoke({"--seeds", "43..46"}));
  ok({"export", "2", "-o", "chosen.tar.zst"});
  ok({"import", "whole.tar.zst", "--out", "elsewhere"});
  const auto whole = place.json({"table", "sd35-ocr", "--format", "json", "--out", "elsewhere"});
  EXPECT_EQ(dual_of(whole).at("verdict"), "better");
  ok({"import", "chosen.tar.zst", "--out", "other"});
  const auto chosen = place.json({"table", "sd35-ocr", "--format", "json", "--out", "other"});
  EXPECT_EQ(dual_of(chosen).at("verdict"), "exploratory");
  EXPECT_THAT(chosen.at("plan").dump(), HasSubstr("a choice of 4 of 5 planned runs"));
}

TEST_F(Plans, OfBeforePlansWereRecordedAreExploratory) {
  make_five();
  place.sql("DELETE FROM plans");
  expect_exploratory({"sd35-ocr"}, "made before plans were recorded");
}

TEST_F(Plans, CallMethodsEqualWithinAMarginThatTheyName) {
  // The fake methods draw the same: every difference between them is 0.
  const auto margins = table_file("margins", {{"equal_within", {{"jpeg_kb", 1}}}});
  fails(2, smoke_of(table_file("bad", {{"equal_within", {{"ocr_reward", -1}}}})),
        {"equal_within: ocr_reward", "above 0"});
  fails(2, smoke_of(table_file("unknown", {{"equal_within", {{"ocr", 1}}}})),
        {"equal_within: ocr", "ocr_reward"});
  fails(2, smoke_of(margins), {"equal_within: jpeg_kb"});
  const auto within = table_file("within", {{"equal_within", {{"ocr_reward", 0.9}}}});
  place.environment.erase("HARNESS_FAKE_HACK");
  ok(smoke_of(within, {"--seeds", "42..49"}));
  const auto table = table_of({"within"});
  const auto c = entry(table.at("comparisons"),
                       {{"baseline", "ratio-norm"}, {"method", "dual"}, {"metric", "ocr_reward"}});
  EXPECT_EQ(c.at("verdict"), "equal within 0.9");
  EXPECT_EQ(c.at("equal"), true);
  EXPECT_EQ(c.at("resolved"), false) << "no bold, no colour";
  EXPECT_LT(c.at("ci95").at(1), 0.9);
  // A margin that is added after the tests holds nowhere.
  const auto later = table_file("within", {{"equal_within", {{"ocr_reward", 0.8}}}});
  ok(smoke_of(later, {"--seeds", "42..49"}), {"equal within 0.9"}, {"the plan's margins hold"});
}

TEST_F(Plans, ClaimNothingThatMissingScoresCouldDecide) {
  make_five();
  const auto few = dual_of(table_of({"sd35-ocr"}));
  EXPECT_GT(few.at("n_missing"), 0);
  EXPECT_EQ(few.at("verdict"), "better");
  EXPECT_GT(few.at("p_adjusted"), few.at("p_value"));
  const auto change = [&](const std::string& row, const std::string& values, const std::string& prompts) {
    place.sql("UPDATE metrics SET " + values +
              " WHERE name IN ('ocr_reward', 'cer_paper') AND evaluation_id IN (" +
              "SELECT evaluations.id FROM evaluations JOIN checkpoints ON checkpoints.id = checkpoint_id " +
              "JOIN runs ON runs.id = run_id WHERE method = '" + row +
              "' AND split = 'test') AND prompt_id " + prompts);
  };
  change("base", "value = name = 'cer_paper', reason = NULL", "% 9 = 1");  // the worst values
  change("dual", "value = NULL, reason = 'lost'", "% 3 > 0");
  const auto many = dual_of(table_of({"sd35-ocr"}));
  EXPECT_EQ(many.at("verdict"), "not resolved: missing values could decide");
  EXPECT_EQ(many.at("resolved"), false);
  ok({"compare", "base", "dual", "--metric", "ocr_reward"}, {"missing values could decide"});
}

TEST_F(Plans, UntilResolvedGoesFromLookToLookAndStopsWhereAllIsDecided) {
  const Words plan = {"--seeds", "42..44", "--plan-runs", "6", "--looks", "5,6", "--until", "resolved"};
  ok(smoke(plan), {"6 of 6 planned runs per row"},
     {"look at 5 of 6 runs: 2 primary questions not decided; 6 runs per row are next",
      "look at 6 of 6 runs: 2 primary questions not decided, and no further run is planned"});
  EXPECT_EQ(place.count("plans"), 1);
  EXPECT_EQ(place.count("reproductions"), 2);
  begin_anew();
  place.let_smoke_judge();
  const auto within = table_file("within", {{"equal_within", {{"ocr_reward", 0.9}}}});
  ok(smoke_of(within, plan), {"5 of 6 planned runs per row"},
     {"look at 5 of 6 runs: every primary question is decided; 1 run per row saved"});
  EXPECT_EQ(place.count("runs WHERE seed > 46"), 0);
  fails(2, smoke({"--seeds", "42..44", "--until", "resolved"}), {"--until", "--plan-runs and --looks"});
  fails(2, smoke({"--seeds", "42..44", "--until", "better"}), {"--until", "resolved"});
}

TEST_F(Plans, AreOfTheConditionsUnderWhichTheyAsk) {
  make_five();
  const auto fewer = table_file("fewer", {{"scales", {{"smoke", {{"limit", {{"test", 40}}}}}}}});
  const auto split = table_file("split", {{"split", {{"seed", 7}, {"take", 256}}}});
  ok(smoke_of(fewer, {"--seeds", "42..46"}));
  expect_exploratory({"fewer"}, "under other conditions");
  ok(smoke_of(split, {"--seeds", "42..46"}));
  expect_exploratory({"split"}, "under other conditions");
  ok(smoke({"--seeds", "42..46", "--set", "eval_steps=12"}));
  expect_exploratory({"4"}, "under other conditions");
}

TEST_F(Plans, OfRunsThatAreImportedAfterTheirTestClaimNothing) {
  make_five();
  Words folders;
  for (const auto& run : place.rows("SELECT id FROM runs WHERE seed <> 44"))
    folders.push_back("runs/" + run.at("id").get<std::string>());
  ok(with(with({"import"}, folders), {"--out", "elsewhere"}));
  ok(smoke({"--seeds", "42,43,45,46", "--out", "elsewhere"}));
  const auto chosen = place.json({"table", "sd35-ocr", "--format", "json", "--out", "elsewhere"});
  EXPECT_EQ(dual_of(chosen).at("verdict"), "exploratory");
  // A plan that was there before does not make them untested.
  ok(smoke({"--seeds", "43..46", "--plan-only", "--out", "planned"}));
  ok({"import", "runs", "--out", "planned"});
  ok(smoke({"--seeds", "43..46", "--out", "planned"}));
  const auto planned =
      place.json({"table", "sd35-ocr", "--seeds", "43..46", "--format", "json", "--out", "planned"});
  EXPECT_EQ(dual_of(planned).at("verdict"), "exploratory");
}

TEST_F(Plans, OfSomeTrainedSeedsAreAChoiceUntilTheOthersAreTaken) {
  const auto by_validation = table_file("by-validation", {{"shows", {{"split", "validation"}}}});
  ok(smoke_of(by_validation, {"--seeds", "42..46"}));
  ok(smoke({"--seeds", "42,43,45"}), {}, {"seeds 44, 46 of the same settings are trained and left out"});
  expect_exploratory({"sd35-ocr"}, "trained and left out");
  begin_anew();
  place.let_smoke_judge();
  place.environment["HARNESS_FAKE_HACK"] = "darken";
  ok(smoke_of(by_validation, {"--seeds", "42..44"}));
  ok(smoke({"--seeds", "42..46"}));
  EXPECT_EQ(dual_of(table_of({"sd35-ocr"})).at("exploratory"), false);
}

TEST_F(Plans, ThatGaveWayAreRecordedAgainWhenTheyAreAskedAgain) {
  ok(smoke({"--seeds", "42..46", "--plan-only"}));
  ok(smoke({"--seeds", "42..44", "--plan-only", "--looks", "3"}));
  ok(smoke({"--seeds", "42..46"}));
  EXPECT_EQ(place.count("plans"), 3);
  EXPECT_EQ(dual_of(table_of({"sd35-ocr"})).at("verdict"), "better");
}

TEST_F(Plans, RefuseTwoRowsThatAreOneMethod) {
  const auto twice =
      table_file("twice", {{"methods", {"ratio-norm", {{"name", "other"}, {"method", "ratio-norm"}}}}});
  fails(2, smoke_of(twice), {"rows ratio-norm and other are one method with the same settings"});
}

TEST_F(Plans, AreShownByTheDryRunWhichRecordsNone) {
  ok(smoke({"--seeds", "42..44", "--plan-runs", "8", "--looks", "3,5,8", "--dry-run"}),
     {"ocr_reward first, 8 runs per row (seeds 42..49), looks at 3, 5, 8 runs"});
  EXPECT_FALSE(fs::exists(db));
  ok(smoke({"--methods", "ratio-norm"}));
  ok({"plan"}, {"ocr_reward", "1 of 1"});
}

}  // namespace
}  // namespace harness::test
