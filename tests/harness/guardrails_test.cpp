// Guardrails through the real program, on finished workspaces of the fake worker.
#include <SQLiteCpp/SQLiteCpp.h>

#include "tests/harness/workplace.h"

namespace harness::test {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;

class Guardrails : public SmokeTest {
 protected:
  Guardrails() { place.let_smoke_judge(); }

  /// The table of trained methods that do what HARNESS_FAKE_HACK says, in five training runs each: of three
  /// not even this hack is shown against the base model, whose questions share a tenth of the level. Their
  /// workspace is made once for all tests of the suite, and copied.
  Json reproduced(const std::string& hack) {
    static std::map<std::string, Workplace> places;
    const auto [found, is_new] = places.try_emplace(hack);
    auto& made = found->second;
    if (is_new) {
      made.let_smoke_judge();
      if (!hack.empty()) made.environment["HARNESS_FAKE_HACK"] = hack;
      made.ok(kFive);
    }
    copy_runs(made);
    return place.json({"table", "sd35-ocr", "--json"});
  }
  static std::size_t alarms_of(const Json& table) { return table.at("guardrails").at("alarms").size(); }
  void write_rule(const std::string& rule) {
    fs::create_directories(place.share() / "rules");
    write_file(place.share() / "rules/guardrails.json", rule);
  }

  const Words kFive = smoke({"--seeds", "42..46"});
  const fs::path folder = runs / "sd35-ocr";
};

Json effect_of(const Json& table, const std::string& method, const std::string& metric) {
  return entry(table.at("guardrails").at("effects"),
               {{"baseline", "base"}, {"method", method}, {"metric", metric}});
}

TEST_F(Guardrails, ImagesDarkenedToPleaseTheScorerRaiseAnAlarmOfEveryMethod) {
  const auto table = reproduced("darken");
  const auto& alarms = table.at("guardrails").at("alarms");
  ASSERT_EQ(alarms.size(), 3u) << alarms.dump();
  for (const auto& alarm : alarms) {
    EXPECT_EQ(alarm.at("guardrail"), "dark_share");
    EXPECT_EQ(alarm.at("reward"), "ocr_reward");
    EXPECT_GT(alarm.at("reward_ci95").at(0), 0);
    EXPECT_GT(alarm.at("ci95").at(0), alarm.at("minimal_effect"));
  }
  EXPECT_THAT(read_file(folder / "table.md"), HasSubstr("> **Guardrail alarm, dual: its OCR reward rose by"));
  EXPECT_THAT(read_file(folder / "table.html"), HasSubstr("class=\"alarm\""));
  EXPECT_THAT(read_file(folder / "table.tex"), HasSubstr("Guardrail alarm, Dual"));
  EXPECT_EQ(read_json(folder / "table.json").at("guardrails"), table.at("guardrails"));
  EXPECT_THAT(query("alarms"), ContainsRegex("dual,ocr_reward,.*,dark_share,higher,0.1,"));
  ok({"report", "sd35-ocr", "-o", "page.html"});
  const auto page = read_file(place.folder() / "page.html");
  EXPECT_THAT(page, HasSubstr("<p class=\"alarm\" role=\"alert\">Guardrail alarm, dual"));
  EXPECT_THAT(page, HasSubstr("<section id=\"guardrails\">"));
}

TEST_F(Guardrails, OneTrainingRunAMethodRaisesNoAlarmAndTellsWhatToLookAt) {
  place.environment["HARNESS_FAKE_HACK"] = "darken";
  const auto table = place.json(smoke({"--json"}));
  EXPECT_EQ(alarms_of(table), 0u);
  const auto& watch = table.at("guardrails").at("watch");
  ASSERT_EQ(watch.size(), 3u) << watch.dump();
  EXPECT_EQ(watch.at(0).at("guardrail"), "dark_share");
  const auto text = read_file(folder / "table.md");
  EXPECT_THAT(text, AllOf(HasSubstr("These checkpoints of dual"), Not(HasSubstr("**Guardrail alarm"))));
  EXPECT_EQ(place.count("alarms"), 0);
  ok({"check", "sd35-ocr"});
}

TEST_F(Guardrails, AnHonestGainStaysSilentAndSaysSo) {
  const auto table = reproduced("honest");
  EXPECT_EQ(alarms_of(table), 0u);
  EXPECT_EQ(effect_of(table, "dual", "dark_share").at("delta"), 0.0);
  EXPECT_THAT(read_file(folder / "table.md"), HasSubstr("No guardrail alarm"));
  EXPECT_EQ(place.count("alarms"), 0);
}

TEST_F(Guardrails, AnOrdinaryRunStaysSilent) {
  EXPECT_EQ(alarms_of(reproduced("")), 0u);
}

TEST_F(Guardrails, MethodsThatDrawWhatTheStartingWeightsDrawMoveNothing) {
  const auto table = reproduced("none");
  EXPECT_EQ(alarms_of(table), 0u);
  for (const auto& effect : table.at("guardrails").at("effects")) {
    EXPECT_EQ(effect.at("delta"), 0.0) << effect.dump();
    EXPECT_FALSE(effect.at("moved").get<bool>());
  }
}

TEST_F(Guardrails, EveryEvaluationComputesThemThoughTheTableDoesNotNameThem) {
  const auto table = reproduced("");
  for (const char* metric : {"edge_density", "colour_entropy", "dark_share", "saturated_share", "jpeg_kb"}) {
    EXPECT_TRUE(table.at("rows").at(0).at("metrics").contains(metric)) << metric;
    for (const auto& comparison : table.at("comparisons"))
      EXPECT_NE(comparison.at("metric"), metric) << "they stand in their panel";
    EXPECT_EQ(effect_of(table, "dual", metric).at("n"), 5 * 48);
  }
  EXPECT_EQ(query("SELECT DISTINCT n FROM v_results WHERE metric = 'dark_share' AND split = 'test'"),
            "n\n48\n")
      << "a run";
  const auto compared = place.json({"compare", "base", "dual", "--metric", "dark_share", "--json"});
  EXPECT_EQ(compared.at("comparisons").at(0).at("delta"), effect_of(table, "dual", "dark_share").at("delta"));
}

TEST_F(Guardrails, AreMadeAgainWithTheDatabaseAndKeepTheirRule) {
  const auto table = reproduced("darken");
  const auto before = query("alarms");
  EXPECT_EQ(place.json({"db", "check", "--json"}).at("findings"), Json::array());
  fs::remove(db);
  ok({"db", "rebuild"});
  EXPECT_EQ(query("alarms"), before);
  EXPECT_EQ(place.json({"table", "sd35-ocr", "--format", "json"}).at("guardrails"), table.at("guardrails"));
  const auto check = place.json({"check", "sd35-ocr", "--json"});
  EXPECT_EQ(entry(check.at("rules"), {{"name", "alarms"}}).at("passed"), true);
}

TEST_F(Guardrails, AnAlarmThatWasRemovedFromTheDatabaseIsMissed) {
  reproduced("darken");
  SQLite::Database(db.string(), SQLite::OPEN_READWRITE).exec("DELETE FROM alarms WHERE method = 'dual'");
  const auto check = fails(1, {"check", "sd35-ocr"});
  EXPECT_THAT(check.out, ContainsRegex("alarms.*dark_share of dual on test"));
}

TEST_F(Guardrails, ARuleOfTheUsersOwnTakesThePlaceOfTheShippedOne) {
  write_rule(
      R"({"version": 2, "metrics": [{"name": "dark_share", "harmful": "higher", "minimal_effect": 0.99}]})");
  place.environment["HARNESS_FAKE_HACK"] = "darken";
  const auto of_five = with(kFive, {"--json"});
  const auto table = place.json(of_five);
  EXPECT_EQ(table.at("guardrails").at("rule_version"), 2);
  EXPECT_EQ(alarms_of(table), 0u);
  // What another rule says of the same evaluations is another experiment, and runs nothing again.
  fs::remove(place.share() / "rules/guardrails.json");
  place.environment["HARNESS_WORKER"] = "/nonexistent";
  EXPECT_EQ(alarms_of(place.json(of_five)), 3u);
}

// Versions below 3 were judged with the panel's own family.
TEST_F(Guardrails, AlarmsOfBeforePlansWereRecordedAreNotJudgedAgain) {
  reproduced("darken");
  ok({"check", "sd35-ocr"}, {"3 guardrail alarms follow from the stored comparisons"});
  place.sql("DELETE FROM plans");
  place.write("alarms.json", {{"version", 1}, {"rules", {{{"check", "alarms"}}}}});
  ok({"check", "sd35-ocr", "--rules", "alarms.json"},
     {"3 guardrail alarms of before plans were recorded: not judged again"});
}

TEST_F(Guardrails, OnPromptsThatTheTableDoesNotShowThereAreNoAlarms) {
  const auto table = reproduced("darken");
  EXPECT_EQ(alarms_of(table), 3u);
  EXPECT_EQ(query("SELECT DISTINCT split FROM alarms"), "split\ntest\n");
}

TEST_F(Guardrails, AnAlarmsIntervalsAreThoseOfTheTablesVerdicts) {
  const auto table = reproduced("darken");
  for (const auto& alarm : table.at("guardrails").at("alarms")) {
    const Json rows = {{"baseline", "base"}, {"method", alarm.at("method")}};
    auto reward = rows, guardrail = rows;
    reward["metric"] = "ocr_reward";
    guardrail["metric"] = alarm.at("guardrail");
    const auto of_reward = entry(table.at("comparisons"), reward);
    const auto of_guardrail = entry(table.at("guardrails").at("effects"), guardrail);
    EXPECT_EQ(of_reward.at("verdict"), "better");
    EXPECT_EQ(alarm.at("reward_ci95"), of_reward.at("ci95"));
    EXPECT_EQ(alarm.at("ci95"), of_guardrail.at("ci95"));
    EXPECT_EQ(alarm.at("p_adjusted"), of_guardrail.at("p_adjusted"));
    EXPECT_LT(of_guardrail.at("level"), 0.05) << "one of a family";
  }
}

TEST_F(Guardrails, AWrongRuleFileStopsThePlanWithItsPlace) {
  write_rule(
      R"({"version": 1, "metrics": [{"name": "dark_share", "harmful": "up", "minimal_effect": 0.1}]})");
  fails(2, smoke({"--dry-run"}), {"guardrails.json: metrics[0]: harmful: unknown direction \"up\""});
}

TEST_F(Guardrails, ATableThatNamesAnImageStatisticShowsItAsAnyMetric) {
  place.environment["HARNESS_FAKE_HACK"] = "darken";
  place.write_text("mine.json", R"({
    "extends": "sd35-ocr", "id": "mine",
    "metrics": {"required": ["ocr_reward", "cer_paper", "exact_match", "substring_match", "cer", "dark_share"]},
    "columns": [{"name": "ocr_reward", "title": "OCR"}, {"name": "dark_share", "title": "Dark"}]})");
  const auto table = place.json(smoke_of("mine.json", {"--seeds", "42..46", "--json"}));
  int found = 0;
  for (const auto& comparison : table.at("comparisons"))
    found += comparison.at("metric") == "dark_share" ? 1 : 0;
  EXPECT_EQ(found, 5);
  EXPECT_EQ(alarms_of(table), 3u);
}

}  // namespace
}  // namespace harness::test
