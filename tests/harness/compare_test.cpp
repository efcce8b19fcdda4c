// `harness compare` on finished workspaces, through the program itself.
#include <gmock/gmock.h>

#include <algorithm>

#include "tests/harness/workplace.h"

namespace harness::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

/// A workspace that a smoke run of the main table has filled; made once a set of arguments.
Workplace& finished(const std::string& seeds) {
  static std::map<std::string, Workplace> places;
  const auto [place, is_new] = places.try_emplace(seeds);
  if (is_new) {
    EXPECT_EQ(
        place->second.run({"reproduce", "--table", "sd35-ocr", "--scale", "smoke", "--seeds", seeds}).status,
        0);
  }
  return place->second;
}

Json compared(Workplace& place, std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "compare");
  arguments.emplace_back("--json");
  return place.json(arguments);
}

TEST(Compare, ListsEveryMethodAndMetricAgainstTheBaseline) {
  const auto document = compared(finished("42"), {"ratio-norm", "dual", "lambda-controlled", "--metric",
                                                  "cer", "--metric", "exact_match", "--metric", "cer"});
  EXPECT_EQ(document.at("baseline"), "ratio-norm");
  std::vector<std::string> shown;
  for (const auto& c : document.at("comparisons")) {
    EXPECT_EQ(c.at("baseline"), "ratio-norm");
    shown.push_back(c.at("method").get<std::string>() + " " + c.at("metric").get<std::string>());
  }
  EXPECT_THAT(shown, ::testing::ElementsAre("dual cer", "dual exact_match", "lambda-controlled cer",
                                            "lambda-controlled exact_match"));
}

TEST(Compare, ChoosesTheTestByTheMetric) {
  const auto document =
      compared(finished("42"), {"ratio-norm", "dual", "--metric", "ocr_reward", "--metric", "exact_match"});
  const auto& graded = document.at("comparisons").at(0);
  EXPECT_EQ(graded.at("test"), "paired-t");
  EXPECT_EQ(graded.at("p_value"), graded.at("tests").at("paired_t").at("p_value"));
  EXPECT_TRUE(graded.at("tests").at("mcnemar").is_null());
  const auto& rate = document.at("comparisons").at(1);
  EXPECT_EQ(rate.at("test"), "mcnemar-exact");
  EXPECT_EQ(rate.at("p_value"), rate.at("tests").at("mcnemar").at("p_value"));
  EXPECT_EQ(rate.at("tests").at("mcnemar").at("only_method"), rate.at("wins"));
}

TEST(Compare, AgreesWithTheTableOfTheSameRun) {
  auto& place = finished("42");
  const auto table = place.json({"table", "--json"});
  const auto document = compared(place, {"ratio-norm", "dual", "--metric", "all"});
  EXPECT_EQ(document.at("comparisons").size(), 5u);
  for (const auto& c : document.at("comparisons")) {
    const auto& rows = table.at("comparisons");
    const auto same = std::ranges::find_if(rows, [&](const Json& row) {
      return row.at("baseline") == "ratio-norm" && row.at("method") == "dual" &&
             row.at("metric") == c.at("metric");
    });
    ASSERT_NE(same, rows.end());
    for (const auto& [field, value] : same->items()) {
      if (field == "verdict") continue;
      EXPECT_EQ(c.at(field), value) << field;
    }
    EXPECT_TRUE(c.at("verdict").get<std::string>().starts_with(same->at("verdict").get<std::string>()));
  }
}

TEST(Compare, AdjustsPValuesOverTheTablesMetricsWhicheverAreShown) {
  auto& place = finished("42");
  const auto all = compared(place, {"ratio-norm", "dual", "--metric", "all"});
  EXPECT_EQ(all.at("holm_family").size(), 5u);
  double smallest = 2, adjusted = 0;
  for (const auto& c : all.at("comparisons")) {
    const auto alone = compared(place, {"ratio-norm", "dual", "--metric", c.at("metric").get<std::string>()})
                           .at("comparisons");
    ASSERT_EQ(alone.size(), 1u);
    EXPECT_EQ(alone.at(0), c) << "the same verdict, alone or among the others";
    if (c.at("p_value") < smallest) {
      smallest = c.at("p_value");
      adjusted = c.at("p_holm");
    }
  }
  EXPECT_DOUBLE_EQ(adjusted, std::min(1.0, 4 * smallest));  // cer_paper restates ocr_reward
  EXPECT_THAT(place.run({"compare", "ratio-norm", "dual"}).out,
              HasSubstr("Holm: over the 5 metrics that table sd35-ocr compares of the two"));
}

TEST(Compare, AMetricThatTheTableDoesNotNameChangesNoOthersVerdict) {
  auto& place = finished("42");
  const auto both =
      compared(place, {"ratio-norm", "dual", "--metric", "cer", "--metric", "dark_share"}).at("comparisons");
  ASSERT_EQ(both.size(), 2u);
  EXPECT_EQ(both.at(0), compared(place, {"ratio-norm", "dual", "--metric", "cer"}).at("comparisons").at(0));
  EXPECT_THAT(
      place.run({"compare", "ratio-norm", "dual", "--metric", "dark_share"}).out,
      HasSubstr("Judged over those and these together, in the table's guardrail panel over all of its own: "
                "dark_share."));
}

TEST(Compare, OffersThreeIntervals) {
  auto& place = finished("42");
  std::vector<Json> intervals;
  for (const char* kind : {"percentile", "bca", "studentised"}) {
    const auto document = compared(place, {"ratio-norm", "dual", "--interval", kind});
    EXPECT_EQ(document.at("interval"), kind);
    intervals.push_back(document.at("comparisons").at(0).at("ci95"));
    EXPECT_LT(intervals.back().at(0), intervals.back().at(1));
  }
  EXPECT_NE(intervals[0], intervals[1]);
  EXPECT_NE(intervals[0], intervals[2]);
}

TEST(Compare, CountsMissingPairsAndShowsThem) {
  auto& place = finished("42");
  const auto c = compared(place, {"ratio-norm", "dual"}).at("comparisons").at(0);
  EXPECT_EQ(c.at("n"), 47);
  EXPECT_EQ(c.at("n_missing"), 1);  // the fake scorer fails at one position
  EXPECT_EQ(c.at("wins").get<int>() + c.at("ties").get<int>() + c.at("losses").get<int>(), 47);
  const auto text = place.run({"compare", "ratio-norm", "dual"}).out;
  EXPECT_THAT(text, HasSubstr("missing"));
  EXPECT_THAT(text, ::testing::ContainsRegex("ocr_reward  47 +47 +1 "));
}

TEST(Compare, SaysInWordsWhatIsResolvedAndWhatItWouldTake) {
  auto& place = finished("42");
  for (const auto& c : compared(place, {"ratio-norm", "dual", "--metric", "all"}).at("comparisons")) {
    const auto interval = c.at("ci95");
    const bool excludes_zero = interval.at(0) > 0 || interval.at(1) < 0;
    EXPECT_EQ(c.at("resolved"), excludes_zero && c.at("p_holm") < 0.05);
    const auto verdict = c.at("verdict").get<std::string>();
    EXPECT_THAT(verdict, HasSubstr(c.at("resolved") ? "resolved: " : "not resolved"));
    if (!c.at("resolved")) {
      EXPECT_GT(c.at("n_needed"), 47);
      EXPECT_THAT(verdict, ::testing::ContainsRegex("n = [0-9]+ prompts would be needed"));
    }
    EXPECT_THAT(place.run({"compare", "ratio-norm", "dual", "--metric", "all"}).out, HasSubstr(verdict));
  }
}

TEST(Compare, TellsHowManyPromptsAGivenEffectTakes) {
  auto& place = finished("42");
  const auto c = compared(place, {"ratio-norm", "dual", "--effect", "0.02"}).at("comparisons").at(0);
  const double error = c.at("standard_error");
  // (z(0.975) + z(0.8))^2 variance / effect^2, and half of z(0.975)^2 more for the t distribution
  EXPECT_NEAR(c.at("n_needed_for_effect").get<double>(), 7.8489 * 47 * error * error / 0.0004 + 1.9, 1.5);
  EXPECT_THAT(place.run({"compare", "ratio-norm", "dual", "--effect", "0.02"}).out, HasSubstr("n for 0.02"));
}

TEST(Compare, OfSeveralSeedsAlsoDrawsTheSeeds) {
  auto& place = finished("42,43");
  const auto document = compared(place, {"ratio-norm", "dual", "--metric", "exact_match"});
  const auto& c = document.at("comparisons").at(0);
  EXPECT_EQ(c.at("n"), 94);
  EXPECT_EQ(c.at("clusters"), 47);
  EXPECT_EQ(c.at("seeds"), 2);
  EXPECT_EQ(c.at("test"), "paired-t-clustered");
  EXPECT_LT(c.at("ci95_seeds").at(0), c.at("ci95_seeds").at(1));
  EXPECT_THAT(place.run({"compare", "ratio-norm", "dual"}).out, HasSubstr("seeds drawn too"));
  EXPECT_THAT(finished("42").run({"compare", "ratio-norm", "dual"}).out, Not(HasSubstr("seeds drawn too")));
}

TEST(Compare, TheTableOfSeveralSeedsHasTheSameIntervalsAndVerdicts) {
  auto& place = finished("42,43");
  const auto table = place.json({"table", "--json"}).at("comparisons");
  for (const auto& row : table) EXPECT_TRUE(row.at("ci95_seeds").is_array()) << row.dump();
  const auto document = compared(place, {"ratio-norm", "dual", "--metric", "exact_match"});
  const auto& c = document.at("comparisons").at(0);
  const auto same = std::ranges::find_if(table, [](const Json& row) {
    return row.at("baseline") == "ratio-norm" && row.at("method") == "dual" &&
           row.at("metric") == "exact_match";
  });
  ASSERT_NE(same, table.end());
  EXPECT_EQ(same->at("ci95_seeds"), c.at("ci95_seeds"));
  EXPECT_THAT(place.run({"table"}).out, HasSubstr("Seeds drawn too"));
}

TEST(Compare, WarnsOfTheSmokeScaleAndOfPromptsThatChoseTheCheckpoints) {
  auto& place = finished("42");
  const auto test = place.run({"compare", "ratio-norm", "dual"}).out;
  EXPECT_THAT(test, AllOf(HasSubstr("Scale smoke: "), Not(HasSubstr("These prompts also chose"))));
  EXPECT_THAT(place.run({"compare", "ratio-norm", "dual", "--split", "validation"}).out,
              HasSubstr("These prompts also chose"));
}

TEST(Compare, IsStatus0WhateverItFinds) {
  auto& place = finished("42");
  EXPECT_EQ(place.run({"compare", "ratio-norm", "dual"}).status, 0);
  EXPECT_EQ(place.run({"compare", "base", "dual", "--split", "validation"}).status, 0);
}

TEST(Compare, UnknownNamesGetTheNearestOne) {
  auto& place = finished("42");
  const auto refused = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "compare");
    const auto outcome = place.run(arguments);
    EXPECT_EQ(outcome.status, 2) << outcome.err;
    EXPECT_EQ(outcome.out, "");
    return outcome.err;
  };
  EXPECT_THAT(refused({"ratio-norm", "duel"}), HasSubstr(R"(no method "duel"; did you mean "dual"?)"));
  EXPECT_THAT(refused({"ratio-nrom", "dual"}), HasSubstr(R"(did you mean "ratio-norm"?)"));
  EXPECT_THAT(refused({"ratio-norm", "dual", "--metric", "exact-match"}),
              HasSubstr(R"(unknown metric "exact-match"; did you mean "exact_match"?)"));
  EXPECT_THAT(refused({"ratio-norm", "dual", "--metric", "pickscore"}), HasSubstr("pickscore was not run: "));
  EXPECT_THAT(refused({"ratio-norm", "dual", "--split", "tset"}), HasSubstr(R"(did you mean "test"?)"));
  EXPECT_THAT(refused({"ratio-norm", "dual", "--interval", "studentized"}),
              HasSubstr(R"(did you mean "studentised"?)"));
}

TEST(Compare, AnEffectIsASizeAboveZero) {
  auto& place = finished("42");
  for (const char* effect : {"0", "-0.1", "nan", "inf"}) {
    const auto outcome = place.run({"compare", "ratio-norm", "dual", std::string("--effect=") + effect});
    EXPECT_EQ(outcome.status, 2) << effect;
    EXPECT_THAT(outcome.err, HasSubstr("--effect: "));
    EXPECT_THAT(outcome.err, HasSubstr("give one above 0"));
  }
  const auto tiny = place.run({"compare", "ratio-norm", "dual", "--effect", "1e-9"});
  EXPECT_EQ(tiny.status, 0);
  EXPECT_THAT(tiny.out, HasSubstr("over 1e+09"));
}

TEST(Compare, AMethodWithItselfIsRefused) {
  const auto outcome = finished("42").run({"compare", "ratio-norm", "dual", "ratio-norm"});
  EXPECT_EQ(outcome.status, 2);
  EXPECT_THAT(outcome.err, HasSubstr("ratio-norm is the baseline and the method: the same twice"));
}

TEST(Compare, NamesTheExperimentThatHasTheMethodsAskedFor) {
  Workplace place;
  const std::vector<std::string> smoke = {"reproduce", "--table", "sd35-ocr",
                                          "--scale",   "smoke",   "--methods"};
  auto fewer = smoke, both = smoke;
  both.emplace_back("ratio-norm,dual");
  fewer.emplace_back("ratio-norm");
  ASSERT_EQ(place.run(both).status, 0);
  ASSERT_EQ(place.run(fewer).status, 0);
  const auto outcome = place.run({"compare", "ratio-norm", "dual"});
  EXPECT_EQ(outcome.status, 2);
  EXPECT_THAT(outcome.err,
              HasSubstr(R"(experiment 2 has no method "dual"; experiment 1 has both: --experiment 1)"));
  EXPECT_EQ(place.run({"compare", "ratio-norm", "dual", "--experiment", "1"}).status, 0);
  EXPECT_THAT(place.run({"compare", "base", "ratio-norm", "dual"}).err, HasSubstr("experiment 1 has all: "));
}

TEST(Compare, SaysThatAWindowHasNoMeaningHere) {
  const auto outcome = finished("42").run({"compare", "ratio-norm", "dual", "--window", "epochs"});
  EXPECT_EQ(outcome.status, 2);
  EXPECT_THAT(outcome.err,
              AllOf(HasSubstr("--window has no meaning"), HasSubstr("harness table --window epochs")));
}

TEST(Compare, TakesMetricsBeforeTheMethodsToo) {
  const auto document = compared(finished("42"), {"--metric", "cer", "ratio-norm", "dual"});
  EXPECT_EQ(document.at("comparisons").at(0).at("metric"), "cer");
}

}  // namespace
}  // namespace harness::test
