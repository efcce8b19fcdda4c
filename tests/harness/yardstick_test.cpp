// Tables that compare a method with itself, and what other experiments learn from them; through the program.
#include <algorithm>
#include <cmath>

#include "results/statistics/power.h"
#include "tests/harness/workplace.h"

namespace harness::test {
namespace {

using ::testing::AllOf;

void write_twins(const Workplace& place) {
  const Json twin = {{"name", "twin"}, {"method", "ratio-norm"}, {"settings", {{"lr", 1.20000001e-4}}}};
  const Json table = {{"extends", "sd35-ocr"},           {"id", "twins"},      {"reproduces", ""},
                      {"methods", {"ratio-norm", twin}}, {"equal_rows", true}, {"seeds", {42, 43, 44}}};
  place.write("twins.json", table);
}

/// A workspace in which one method was compared with itself over three runs (experiment 1), and then two
/// methods of one run each (experiment 2).
Workplace& finished() {
  static Workplace place;
  static const bool is_ready = [] {
    write_twins(place);
    place.ok(smoke_of("twins.json"));
    place.ok(smoke_of("sd35-ocr", {"--methods", "ratio-norm,dual"}));
    return true;
  }();
  EXPECT_TRUE(is_ready);
  return place;
}

Json table_of(Workplace& place, const std::string& experiment) {
  return place.json({"table", "--experiment", experiment, "--json"});
}

double mean_of_row(const Json& table, const std::string& method, int seed, const std::string& metric) {
  return entry(table.at("rows"), {{"method", method}, {"seed", seed}}).at("metrics").at(metric).at("mean");
}

TEST(EqualRows, TellWhatTwoRunsOfOneMethodDifferBy) {
  const auto table = table_of(finished(), "1");
  const auto& yardstick = table.at("yardstick");
  EXPECT_EQ(yardstick.at("own"), true);
  EXPECT_EQ(yardstick.at("method"), "ratio-norm");
  EXPECT_EQ(yardstick.at("rows"), Json({"ratio-norm", "twin"}));
  for (const std::string metric : {"ocr_reward", "exact_match"}) {
    double squares = 0;
    for (const int seed : {42, 43, 44})
      squares += std::pow(
          mean_of_row(table, "twin", seed, metric) - mean_of_row(table, "ratio-norm", seed, metric), 2);
    const auto& measured = yardstick.at("metrics").at(metric);
    EXPECT_NEAR(measured.at("same_seed_sd").get<double>(), std::sqrt(squares / 3), 1e-12) << metric;
    double variances = 0;
    for (const std::string row : {"ratio-norm", "twin"}) {
      double mean = 0, of_row = 0;
      for (const int seed : {42, 43, 44}) mean += mean_of_row(table, row, seed, metric) / 3;
      for (const int seed : {42, 43, 44}) of_row += std::pow(mean_of_row(table, row, seed, metric) - mean, 2);
      variances += of_row / 2;
    }
    EXPECT_NEAR(measured.at("run_sd").get<double>(), std::sqrt(2 * variances / 2), 1e-3) << metric;
    EXPECT_EQ(measured.at("runs"), 3);
    EXPECT_EQ(measured.at("differences"), 3);
    EXPECT_EQ(measured.at("checkpoints").at("comparisons"), 2) << "42 and 43, each way";
    EXPECT_EQ(measured.at("methods").at("comparisons"), 0) << "it takes six seeds";
  }
}

TEST(EqualRows, SayUnderTheirTableHowOftenTheyWereCalledDifferent) {
  // Four metrics: cer_paper restates ocr_reward.
  finished().ok(
      {"table", "--experiment", "1"},
      {"Yardstick: two runs of one method (ratio-norm; rows ratio-norm; twin) with different seeds ",
       "Verdicts between runs of these equal rows with different seeds, in 4 metrics: ",
       "of 8 comparisons of one run per row", "Rows by method: intraclass correlation "});
}

TEST(EqualRows, AreTheYardstickOfOtherExperimentsMadeAsTheyWere) {
  auto& place = finished();
  const auto own = table_of(place, "1").at("yardstick"), other = table_of(place, "2").at("yardstick");
  EXPECT_EQ(other.at("own"), false);
  EXPECT_EQ(other.at("experiment"), 1);
  EXPECT_EQ(other.at("metrics"), own.at("metrics"));
  constexpr auto kNote =
      "Yardstick: two runs of one method (ratio-norm; experiment 1, table twins) with different seeds differ "
      "by ";
  EXPECT_THAT(place.run({"table", "--experiment", "2"}).out,
              AllOf(HasSubstr(kNote), Not(HasSubstr("Verdicts between runs of these equal rows"))));
  place.ok({"report", "--experiment", "2", "-o", "report.html"});
  EXPECT_THAT(read_file(place.folder() / "report.html"), HasSubstr(kNote));
}

TEST(EqualRows, EachRecordsItsOwnSettingsAlone) {
  auto& place = finished();
  const auto runs = place.rows(
      "SELECT arm, requested_settings AS asked FROM table_runs JOIN runs ON run_id = id "
      "WHERE table_runs.table_id = 'twins' AND seed = 42 AND method <> 'base'");
  ASSERT_EQ(runs.size(), 2u);
  for (const auto& run : runs)
    EXPECT_EQ(run.at("asked").get<std::string>().find("twin.lr") != std::string::npos,
              run.at("arm") == "twin");
}

TEST(EqualRows, LendTheirSpreadOfRunsToAComparisonOfOneRun) {
  auto& place = finished();
  const Words asked = {"compare", "ratio-norm", "dual", "--experiment", "2", "--effect", "0.5"};
  const auto document = place.json(with(asked, {"--json"}));
  const auto& c = document.at("comparisons").at(0);
  EXPECT_EQ(c.at("runs_spread"), "yardstick");
  EXPECT_EQ(c.at("runs_needed_for_effect"), 3);
  // A standard deviation between runs of 1 makes 3.26 detectable at 3 runs (results/STATISTICS.md).
  const double run_sd = document.at("yardstick").at("metrics").at("ocr_reward").at("run_sd");
  EXPECT_NEAR(c.at("detectable_at_runs").at(0).at("effect").get<double>() / run_sd, 3.26, 0.01);
  place.ok(asked, {"runs for 0.5",
                   "It is taken from experiment 1 (table twins, runs of ratio-norm with different seeds)"});
  const auto planned = place.json({"power", "--table", "sd35-ocr", "--from", "2", "--json"});
  const auto& ours = planned.at("differences").at(0);
  EXPECT_EQ(ours.at("runs_spread"), "yardstick");
  EXPECT_EQ(ours.at("runs"), 3);
  const double in_means = document.at("comparisons").at(0).at("standard_error");
  const VarianceComponents components{.run = std::max(0.0, run_sd * run_sd - in_means * in_means),
                                      .residual = in_means * in_means * 47};
  EXPECT_NEAR(
      ours.at("methods").at("detectable").get<double>(),
      *crossed_detectable_effect(components, 3, 47, {.confidence = 1 - ours.at("level").get<double>()}),
      1e-9);
  const auto base = place.json({"compare", "base", "dual", "--experiment", "2", "--json"});
  EXPECT_TRUE(base.at("comparisons").at(0).at("runs_spread").is_null())
      << "the starting weights have no runs";
}

TEST(EqualRows, WithOthersBesideThemSayUnderOtherTablesWhatWasMadeOfBoth) {
  Workplace place;
  place.let_smoke_judge();
  place.ok(smoke_of("calibration"));
  const auto own = place.json({"table", "--json"});
  EXPECT_FALSE(own.contains("calibration")) << "it is its own table";
  place.ok(smoke_of("sd35-ocr"));
  const auto told = place.json({"table", "sd35-ocr", "--json"}).at("calibration");
  EXPECT_EQ(told.at("experiment"), 1);
  EXPECT_EQ(told.at("baseline"), "ratio-norm");
  EXPECT_EQ(told.at("runs"), 5);
  for (const auto& [row, entry] : told.at("rows").items()) {
    EXPECT_EQ(entry.at("equal"), row == "negative control");
    EXPECT_EQ(entry.at("metrics"), 4) << "cer_paper restates ocr_reward";
    Json called = Json::array();
    for (const auto& c : own.at("comparisons")) {
      if (c.at("method") == row && c.at("baseline") == "ratio-norm" && c.at("resolved").get<bool>() &&
          c.at("metric") != "cer_paper")
        called.push_back(c.at("metric"));
    }
    EXPECT_EQ(entry.at("called"), called) << row;
  }
  EXPECT_EQ(told.at("rows").size(), 2u);
  place.ok({"table", "sd35-ocr"},
           {"Calibration (experiment 1, table calibration, 5 runs per row): metrics in which a row was "
            "called better or worse than ratio-norm: negative control (equal) "});
}

TEST(EqualRows, AreNoYardstickOfExperimentsWithOtherSettings) {
  auto& place = finished();
  EXPECT_FALSE(place.json(smoke({"--methods", "ratio-norm,dual", "--set", "lr=1e-5", "--json"}))
                   .contains("yardstick"));
}

TEST(EqualRows, ThatTheCommandLineMakesUnequalAreNotCompared) {
  auto& place = finished();
  const auto yardstick =
      place.json(smoke_of("twins.json", {"--seeds", "42", "--set", "twin.lr=1e-5", "--json"}))
          .at("yardstick");
  EXPECT_EQ(yardstick.at("own"), false);
  EXPECT_EQ(yardstick.at("experiment"), 1);
}

}  // namespace
}  // namespace harness::test
