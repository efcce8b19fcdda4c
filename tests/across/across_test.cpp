// `harness compare` of rows of several experiments, through the program itself.
#include <fmt/format.h>

#include "tests/harness/workplace.h"

namespace harness::test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

const Words kSeeds = {"--seeds", "42,43,44"};

Json compared(Workplace& place, const Words& arguments) {
  return place.json(with(with({"compare"}, arguments), {"--json"}));
}

/// Experiments of one workspace, all but the fifth of three runs a method at a scale that judges methods.
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
    return true;
  }();
  EXPECT_TRUE(is_made);
  return place;
}

/// What is not the same on the two sides of a document's comparisons.
Words differences(const Json& document) {
  Words found;
  for (const auto& difference : document.at("differences")) found.push_back(difference.at("what"));
  return found;
}

TEST(Across, RowsOfOneExperimentAreComparedAsItsTableComparesThem) {
  auto& place = finished();
  const Words metrics = {"--metric", "all"};
  const auto today = compared(place, with({"ratio-norm", "dual", "base", "--experiment", "1"}, metrics));
  EXPECT_EQ(compared(place, with({"1:ratio-norm", "1:dual", "1:base"}, metrics)), today);
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
  const auto across = compared(place, {"1:dual", "4:flow-grpo"});
  EXPECT_TRUE(across.at("experiment").is_null());
  EXPECT_EQ(across.at("rows").at("1:dual").at("table"), "sd35-ocr");
  const auto& other = across.at("rows").at("4:flow-grpo");
  EXPECT_EQ(other.at("experiment"), 4);
  EXPECT_EQ(other.at("row"), "flow-grpo");
  EXPECT_EQ(other.at("signature"), place.json({"table", "--experiment", "4", "--json"}).at("signature"));
}

TEST(Across, ThreeRunsThatDifferInNothingButTheMethodAreOfTheMethodsAndExploratory) {
  auto& place = finished();
  const auto document =
      compared(place, {"1:ratio-norm", "4:flow-grpo", "--metric", "ocr_reward,exact_match"});
  EXPECT_THAT(differences(document), ElementsAre("method"));
  for (const auto& c : document.at("comparisons")) {
    EXPECT_EQ(c.at("claim"), "methods");
    EXPECT_EQ(c.at("runs").at("n"), 3);
    EXPECT_TRUE(c.at("validation_delta").is_number());
    EXPECT_EQ(c.at("exploratory"), true) << "no table asks for it";
    EXPECT_EQ(c.at("resolved"), false);
    EXPECT_EQ(c.at("verdict"), "exploratory");
    EXPECT_TRUE(c.at("p_adjusted").is_null());
    EXPECT_NEAR(c.at("level").get<double>(), 0.05, 1e-12);
  }
  EXPECT_EQ(document.at("family"), Json::array());
  EXPECT_EQ(document.at("pairing").at(0).at("seeds"), Json({42, 43, 44}));
  place.ok({"compare", "1:ratio-norm", "4:flow-grpo", "--claim", "methods"},
           {"4:flow-grpo against 1:ratio-norm: exploratory in ocr_reward",
            "\"exploratory\": no plan asks for it"});
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
  for (const char* field :
       {"n", "n_missing", "clusters", "delta", "prompts", "ci95_seeds", "runs", "wins", "ties", "losses",
        "p_value", "test", "tests", "claim", "validation_delta", "note"})
    EXPECT_EQ(a.at(field), b.at(field)) << field;
  // Now one table has them both, and a fuller one after it: the names that were typed do not choose.
  for (const auto& rows :
       {Words{"1:ratio-norm", "2:dual"}, {"2:dual", "1:ratio-norm"}, {"3:dual", "1:ratio-norm"}})
    EXPECT_EQ(compared(place, with(rows, {"--metric", "exact_match"})).at("experiment"), 3);
  place.ok(smoke(kSeeds));
  const auto judged = [&](const Words& rows) {
    const auto document = compared(place, with(rows, {"--metric", "ocr_reward"}));
    EXPECT_EQ(document.at("experiment"), 4);
    return document.at("comparisons").at(0);
  };
  EXPECT_EQ(judged({"1:ratio-norm", "4:dual"}), judged({"4:ratio-norm", "2:dual"}));
  EXPECT_EQ(judged({"1:ratio-norm", "3:dual"}), judged({"4:ratio-norm", "4:dual"}));
  place.ok({"compare", "3:ratio-norm", "3:dual"}, {"Experiment 4 holds these runs and more"});
  place.fails(2, {"compare", "2:dual", "3:dual"}, {"4:dual is named twice", "name two rows that differ"});
}

TEST(Across, OtherTrainingSettingsAreRefused) {
  finished().fails(2, {"compare", "1:ratio-norm", "3:dual"},
                   {"1:ratio-norm and 3:dual differ in more than the method: training setting lr: ",
                    " and 1e-06", "make them rows of one table"});
}

TEST(Across, TheStartingWeightsHaveNoTrainingThatCouldDiffer) {
  const auto document = compared(finished(), {"1:base", "3:dual", "1:dual"});
  EXPECT_THAT(differences(document), IsEmpty());
  for (const char* method : {"1:dual", "3:dual"})
    EXPECT_EQ(entry(document.at("comparisons"), {{"method", method}}).at("claim"), "methods");
}

TEST(Across, ImagesThatWereDrawnOtherwiseAreRefusedWithEveryDifference) {
  for (const char* method : {"2:dual", "2:ratio-norm"}) {
    finished().fails(
        2, {"compare", "1:dual", method},
        {fmt::format("1:dual and {} differ in more than the method: evaluation setting eval_steps: 10 and 20",
                     method)});
  }
  finished().fails(2, {"compare", "1:base", "2:dual"}, {"evaluation setting eval_steps: 10 and 20"});
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

TEST(Across, WithoutACommonSeedNothingIsCompared) {
  finished().fails(2, {"compare", "1:ratio-norm", "6:dual"}, {"seeds: [42,43,44] and [50,51]"});
}

TEST(Across, ARowOfTheBaselinesOwnExperimentIsJudgedInItsTable) {
  auto& place = finished();
  const auto document = compared(place, {"1:ratio-norm", "1:dual", "4:flow-grpo"});
  auto own = document.at("comparisons").at(0);
  const auto alone = compared(place, {"1:ratio-norm", "1:dual"}).at("comparisons").at(0);
  EXPECT_TRUE(alone.at("p_adjusted").is_number());
  EXPECT_EQ(own.at("exploratory"), false);
  EXPECT_EQ(own.at("p_adjusted"), alone.at("p_adjusted"));
  EXPECT_EQ(own.at("verdict"), alone.at("verdict"));
  EXPECT_EQ(document.at("family").size(), 50U) << "in ten metrics, of which five are image statistics";
  EXPECT_EQ(document.at("comparisons").at(1).at("method"), "4:flow-grpo");
  EXPECT_EQ(document.at("comparisons").at(1).at("exploratory"), true);
}

TEST(Across, APairThatItsTableDoesNotCompareIsExploratoryBesideARowOfAnotherExperimentToo) {
  auto& place = finished();
  const auto alone = compared(place, {"1:dual", "1:lambda-controlled"}).at("comparisons").at(0);
  const auto document = compared(place, {"1:dual", "1:lambda-controlled", "4:flow-grpo"});
  const auto beside = document.at("comparisons").at(0);
  for (const char* field :
       {"ci95", "level", "p_value", "p_adjusted", "family_size", "exploratory", "verdict"})
    EXPECT_EQ(beside.at(field), alone.at(field)) << field;
  for (const auto& c : document.at("comparisons")) {
    EXPECT_EQ(c.at("exploratory"), true);
    EXPECT_EQ(c.at("family_size"), 0);
  }
  place.ok({"compare", "1:dual", "1:lambda-controlled", "4:flow-grpo"},
           {"1:lambda-controlled against 1:dual: exploratory in ocr_reward",
            "4:flow-grpo against 1:dual: exploratory in ocr_reward"});
}

TEST(Across, ARowWithoutANumberIsOfTheExperimentThatTheOptionsChoose) {
  auto& place = finished();
  const auto document = compared(place, {"4:flow-grpo", "dual", "--experiment", "1"});
  EXPECT_EQ(document.at("baseline"), "4:flow-grpo");
  EXPECT_EQ(document.at("comparisons").at(0).at("method"), "1:dual");
}

TEST(Across, TheSameRunsUnderTwoNamesAreNoComparison) {
  finished().fails(2, {"compare", "1:dual", "5:dual"},
                   {"1:dual and 5:dual are the same evaluations of the same runs"});
}

TEST(Across, RowsOfAnotherWorkspaceAreTakenInFirst) {
  Workplace place;
  place.ok(smoke({"--methods", "ratio-norm"}));
  place.ok(smoke({"--methods", "dual", "--out", "other"}));
  for (const char* row : {"other:dual", "other:1:dual", "other/results.sqlite:dual", "with:dual"})
    place.fails(2, {"compare", "1:ratio-norm", row},
                {"is not the number of an experiment", "with `harness import` first"});
  place.ok({"export", "sd35-ocr", "--out", "other", "-o", "other.tar.zst"});
  place.ok({"import", "other.tar.zst"});
  place.ok({"compare", "1:ratio-norm", "2:dual"}, {"These checkpoints of 2:dual and 1:ratio-norm: "});
}

TEST(Across, OtherPromptsAreRefused) {
  Workplace place;
  place.write("mine.json", {{"extends", "sd35-ocr"},
                            {"id", "mine"},
                            {"reproduces", ""},
                            {"methods", {"ratio-norm", "dual"}},
                            {"prompts", {{"first", 20}}},
                            {"split", {{"seed", nullptr}, {"take", nullptr}, {"first", 4}}}});
  for (const char* set : {"near", "far"}) {
    std::string lines;
    for (int i = 0; i < 20; ++i) lines += fmt::format("a sign that reads \"{} {}\"\n", set, i);
    place.write_text(fmt::format("{}/ocr/test.txt", set), lines);
    place.ok(smoke_of("mine.json", {"--prompts", set}));
  }
  place.fails(2, {"compare", "1:ratio-norm", "2:dual"}, {"differ in more than the method: ", "prompt set: "});
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
  place.ok({"compare", "1:ratio-norm", "2:dual", "--metric", "ocr_reward,edge_density"});
  place.fails(2, {"compare", "1:ratio-norm", "2:dual", "--metric", "jpeg_kb"},
              {"scorer jpeg version: fake and another"});
}

TEST(Across, WhatCannotBeComparedIsRefusedWithWhatToDo) {
  auto& place = finished();
  const std::vector<std::pair<Words, Words>> refusals = {
      {{"1:dual", "9:dual"}, {"no completed experiment fits --experiment 9", "\n  6: table sd35-ocr, "}},
      {{"1:dual", "3:ratio-nrom"}, {R"(experiment 3 has no row "ratio-nrom"; did you mean "ratio-norm"?)"}},
      {{"1:dual", "3:dual", "3:dual"}, {"3:dual is named twice"}},
      {{"1:dual", "3:"}, {"3:: names no row"}},
      {{"1:dual", "4:flow-grpo", "flow-grpo", "--experiment", "4"}, {"4:flow-grpo is named twice"}},
      {{"1:dual", "othr:dual"}, {R"(othr:dual: "othr" is not the number of an experiment)"}},
      {{"1:dual", "3:dual", "--with", "other"}, {"--with"}},
      {{"1:dual", "3:dual", "--anyway"}, {"--anyway"}},
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
