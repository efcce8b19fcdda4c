// Guardrails through the real program, on finished workspaces of the fake worker.
#include <SQLiteCpp/SQLiteCpp.h>
#include <gmock/gmock.h>

#include <algorithm>

#include "tests/harness/workplace.h"

namespace harness::test {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

const std::vector<std::string> kSmoke = smoke_of("sd35-ocr");

/// A workplace whose trained methods do what HARNESS_FAKE_HACK says, in three training runs each.
class Hacked : public Workplace {
 public:
  explicit Hacked(const std::string& hack) {
    if (!hack.empty()) environment["HARNESS_FAKE_HACK"] = hack;
  }
  Json reproduced(const std::string& seeds = "42,43,44") {
    return json(with(kSmoke, {"--seeds", seeds, "--json"}));
  }
  std::string alarms() { return run({"query", "alarms", "--format", "csv"}).out; }
};

const Json& effect_of(const Json& table, const std::string& method, const std::string& metric) {
  for (const auto& effect : table.at("guardrails").at("effects")) {
    if (effect.at("baseline") == "base" && effect.at("method") == method && effect.at("metric") == metric)
      return effect;
  }
  throw std::runtime_error("no effect of " + metric);
}

TEST(Guardrails, ImagesDarkenedToPleaseTheScorerRaiseAnAlarmOfEveryMethod) {
  Hacked place("darken");
  const auto table = place.reproduced();
  const auto& alarms = table.at("guardrails").at("alarms");
  ASSERT_EQ(alarms.size(), 3u) << alarms.dump();
  for (const auto& alarm : alarms) {
    EXPECT_EQ(alarm.at("guardrail"), "dark_share");
    EXPECT_EQ(alarm.at("reward"), "ocr_reward");
    EXPECT_GT(alarm.at("reward_ci95").at(0), 0);
    EXPECT_GT(alarm.at("ci95").at(0), alarm.at("minimal_effect"));
  }
  const auto folder = place.folder() / "runs/sd35-ocr";
  EXPECT_THAT(read_file(folder / "table.md"), HasSubstr("> **Guardrail alarm, dual: its OCR reward rose by"));
  EXPECT_THAT(read_file(folder / "table.html"), HasSubstr("class=\"alarm\""));
  EXPECT_THAT(read_file(folder / "table.tex"), HasSubstr("Guardrail alarm, dual"));
  EXPECT_EQ(read_json(folder / "table.json").at("guardrails"), table.at("guardrails"));
  EXPECT_THAT(place.alarms(), ContainsRegex("dual,ocr_reward,.*,dark_share,higher,0.1,"));
  ASSERT_EQ(place.run({"report", "sd35-ocr", "-o", "page.html"}).status, 0);
  const auto page = read_file(place.folder() / "page.html");
  EXPECT_THAT(page, HasSubstr("<p class=\"alarm\" role=\"alert\">Guardrail alarm, dual"));
  EXPECT_THAT(page, HasSubstr("<section id=\"guardrails\">"));
}

TEST(Guardrails, OneTrainingRunAMethodRaisesNoAlarmAndTellsWhatToLookAt) {
  Hacked place("darken");
  const auto table = place.reproduced("42");
  EXPECT_EQ(table.at("guardrails").at("alarms").size(), 0u);
  const auto& watch = table.at("guardrails").at("watch");
  ASSERT_EQ(watch.size(), 3u) << watch.dump();
  EXPECT_EQ(watch.at(0).at("guardrail"), "dark_share");
  const auto text = read_file(place.folder() / "runs/sd35-ocr/table.md");
  EXPECT_THAT(text, AllOf(HasSubstr("These checkpoints of dual"), Not(HasSubstr("**Guardrail alarm"))));
  EXPECT_EQ(place.run({"query", "SELECT count(*) AS n FROM alarms", "--format", "csv"}).out, "n\n0\n");
  EXPECT_EQ(place.run({"check", "sd35-ocr"}).status, 0);
}

TEST(Guardrails, AnHonestGainStaysSilentAndSaysSo) {
  Hacked place("honest");
  const auto table = place.reproduced();
  EXPECT_EQ(table.at("guardrails").at("alarms").size(), 0u);
  EXPECT_EQ(effect_of(table, "dual", "dark_share").at("delta"), 0.0);
  EXPECT_THAT(read_file(place.folder() / "runs/sd35-ocr/table.md"), HasSubstr("No guardrail alarm"));
  EXPECT_EQ(place.run({"query", "SELECT count(*) AS n FROM alarms", "--format", "csv"}).out, "n\n0\n");
}

TEST(Guardrails, MethodsThatDrawWhatTheStartingWeightsDrawMoveNothing) {
  Hacked place("none");
  const auto table = place.reproduced();
  EXPECT_EQ(table.at("guardrails").at("alarms").size(), 0u);
  for (const auto& effect : table.at("guardrails").at("effects")) {
    EXPECT_EQ(effect.at("delta"), 0.0) << effect.dump();
    EXPECT_FALSE(effect.at("moved").get<bool>());
  }
}

TEST(Guardrails, EveryEvaluationComputesThemThoughTheTableDoesNotNameThemAndAnOrdinaryRunIsSilent) {
  Hacked place("");
  const auto table = place.reproduced();
  EXPECT_EQ(table.at("guardrails").at("alarms").size(), 0u);
  for (const char* metric : {"edge_density", "colour_entropy", "dark_share", "saturated_share", "jpeg_kb"}) {
    EXPECT_TRUE(table.at("rows").at(0).at("metrics").contains(metric)) << metric;
    for (const auto& comparison : table.at("comparisons"))
      EXPECT_NE(comparison.at("metric"), metric) << "they stand in their panel";
    EXPECT_EQ(effect_of(table, "dual", metric).at("n"), 3 * 48);
  }
  const auto counts =
      place.run({"query", "SELECT DISTINCT n FROM v_results WHERE metric = 'dark_share' AND split = 'test'",
                 "--format", "csv"});
  EXPECT_EQ(counts.out, "n\n48\n") << "a run";
  const auto compared = place.json({"compare", "base", "dual", "--metric", "dark_share", "--json"});
  EXPECT_EQ(compared.at("comparisons").at(0).at("delta"), effect_of(table, "dual", "dark_share").at("delta"));
}

TEST(Guardrails, AreMadeAgainWithTheDatabaseKeepTheirRuleAndAreMissedWhereOneWasRemoved) {
  Hacked place("darken");
  const auto table = place.reproduced();
  const auto before = place.alarms();
  EXPECT_EQ(place.json({"db", "check", "--json"}).at("findings"), Json::array());
  fs::remove(place.folder() / "runs/results.sqlite");
  ASSERT_EQ(place.run({"db", "rebuild"}).status, 0);
  EXPECT_EQ(place.alarms(), before);
  EXPECT_EQ(place.json({"table", "sd35-ocr", "--format", "json"}).at("guardrails"), table.at("guardrails"));
  const auto check = place.json({"check", "sd35-ocr", "--json"});
  EXPECT_THAT(check.at("rules"),
              Contains(AllOf(::testing::Truly([](const Json& r) { return r.at("name") == "alarms"; }),
                             ::testing::Truly([](const Json& r) { return r.at("passed") == true; }))));
  SQLite::Database((place.folder() / "runs/results.sqlite").string(), SQLite::OPEN_READWRITE)
      .exec("DELETE FROM alarms WHERE method = 'dual'");
  const auto without = place.run({"check", "sd35-ocr"});
  EXPECT_EQ(without.status, 1);
  EXPECT_THAT(without.out, ContainsRegex("alarms.*dark_share of dual on test"));
}

TEST(Guardrails, ARuleOfTheUsersOwnTakesThePlaceOfTheShippedOne) {
  Hacked place("darken");
  fs::create_directories(place.share() / "rules");
  const auto file = place.share() / "rules/guardrails.json";
  write_file(
      file,
      R"({"version": 2, "metrics": [{"name": "dark_share", "harmful": "higher", "minimal_effect": 0.99}]})");
  const auto table = place.reproduced();
  EXPECT_EQ(table.at("guardrails").at("rule_version"), 2);
  EXPECT_EQ(table.at("guardrails").at("alarms").size(), 0u);
  // What another rule says of the same evaluations is another experiment, and runs nothing again.
  fs::remove(file);
  place.environment["HARNESS_WORKER"] = "/nonexistent";
  EXPECT_EQ(place.reproduced().at("guardrails").at("alarms").size(), 3u);
}

TEST(Guardrails, AWrongRuleFileStopsThePlanWithItsPlace) {
  Hacked place("");
  fs::create_directories(place.share() / "rules");
  write_file(
      place.share() / "rules/guardrails.json",
      R"({"version": 1, "metrics": [{"name": "dark_share", "harmful": "up", "minimal_effect": 0.1}]})");
  EXPECT_THAT(refusal_of(place, with(kSmoke, {"--dry-run"})),
              HasSubstr("guardrails.json: metrics[0]: harmful: unknown direction \"up\""));
}

TEST(Guardrails, ATableThatNamesAnImageStatisticShowsItAsAnyMetric) {
  Hacked place("darken");
  write_file(place.folder() / "mine.json", R"({
    "extends": "sd35-ocr", "id": "mine",
    "metrics": {"required": ["ocr_reward", "cer_paper", "exact_match", "substring_match", "cer", "dark_share"]},
    "columns": [{"name": "ocr_reward", "title": "OCR"}, {"name": "dark_share", "title": "Dark"}]})");
  const auto table = place.json(smoke_of("mine.json", {"--seeds", "42,43,44", "--json"}));
  int found = 0;
  for (const auto& comparison : table.at("comparisons"))
    found += comparison.at("metric") == "dark_share" ? 1 : 0;
  EXPECT_EQ(found, 5);
  EXPECT_EQ(table.at("guardrails").at("alarms").size(), 3u);
}

}  // namespace
}  // namespace harness::test
