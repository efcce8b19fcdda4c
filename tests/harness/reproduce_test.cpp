#include <SQLiteCpp/SQLiteCpp.h>

#include <algorithm>
#include <set>

#include "core/event_log.h"
#include "core/sha256.h"
#include "tests/harness/workplace.h"

namespace harness::test {
namespace {

using Reproduce = SmokeTest;
using Figure = SmokeTest;

/// The metric rows of a run that nothing disturbed.
const std::string& undisturbed_rows() {
  static const std::string rows = [] {
    Workplace place;
    place.ok(kSmoke);
    return place.metric_rows();
  }();
  return rows;
}

TEST_F(Reproduce, EndsWithATrueTableAndItsArtifacts) {
  const auto result = place.json(smoke({"--json"}));
  EXPECT_EQ(result.at("table"), "sd35-ocr");
  EXPECT_EQ(result.at("rows").size(), 3u);
  EXPECT_EQ(result.at("reference").size(), 1u);
  for (const auto& row : result.at("rows")) {
    EXPECT_EQ(row.at("n"), 48);
    EXPECT_EQ(row.at("n_missing"), 1);  // the fake scorer fails at one position
    EXPECT_TRUE(row.at("metrics").contains("ocr_reward"));
    EXPECT_TRUE(row.at("paper").contains("ocr_reward"));
  }
  // Two methods against the baseline, three against the base model, five metrics.
  EXPECT_EQ(result.at("comparisons").size(), 25u);
  for (const auto& [name, path] : result.at("artifacts").items()) {
    EXPECT_GT(fs::file_size(place.folder() / path.get<std::string>()), 0u) << name;
  }
  EXPECT_EQ(query("SELECT DISTINCT n + n_missing FROM v_results WHERE split = 'validation'"),
            "n + n_missing\n24\n");
}

TEST_F(Reproduce, SelectsTheHighestValidationMeanAndTestsNothingElse) {
  make();
  EXPECT_EQ(place.rows(R"sql(
    SELECT method, checkpoint FROM v_results v WHERE split = 'test' AND metric = 'ocr_reward' AND method <> 'base'
    AND mean IS NOT NULL AND checkpoint <> (SELECT checkpoint FROM v_results w WHERE w.method = v.method
      AND w.split = 'validation' AND w.metric = 'ocr_reward' ORDER BY mean DESC, checkpoint LIMIT 1))sql"),
            Json::array());
  EXPECT_EQ(place.count("evaluations WHERE split = 'test' AND selection_id IS NULL"), 0);
}

// Where the hardest prompts of one checkpoint have no score, its mean is of easier prompts than the others'.
TEST_F(Reproduce, SelectsNothingWhereScoresAreMissingAndGoesOnOnceTheyAreThere) {
  place.environment["HARNESS_FAKE_BLIND"] = "4:0.5";
  for (const bool repeated : {false, true}) {
    const auto refused = fails(1, kSmoke,
                               {"no checkpoint is selected on the validation split: ", "of 24 prompts (",
                                "have no ocr_reward at some checkpoint (checkpoint 4: ",
                                "once their cause is gone, repeat the command"});
    EXPECT_EQ(refused.err.find("are scored again") != std::string::npos, repeated) << refused.err;
    EXPECT_EQ(place.count("evaluations JOIN checkpoints ON checkpoints.id = checkpoint_id "
                          "WHERE split = 'test' AND step > 0"),
              0);
  }
  place.environment.erase("HARNESS_FAKE_BLIND");
  ok(kSmoke);
  EXPECT_EQ(place.metric_rows(), undisturbed_rows());
  for (const auto& log : place.logs_of("train")) {
    const auto events = read_events(log, 0).events;
    EXPECT_EQ(std::ranges::count_if(events, [](const Json& e) { return e.at("type") == "job_started"; }), 1)
        << "nothing is trained again: " << log;
  }
  ok({"check", "sd35-ocr"});
  ok({"db", "rebuild"});
  EXPECT_EQ(place.metric_rows(), undisturbed_rows());
}

TEST_F(Reproduce, RepeatedItAnswersFromTheDbWithoutAWorker) {
  auto first = place.json(smoke({"--json"}));
  place.environment["HARNESS_WORKER"] = "/nonexistent";
  EXPECT_EQ(place.json(smoke({"--json"})), first);
  for (auto& [name, path] : first.at("artifacts").items()) path = name;  // the file names those beside it
  EXPECT_EQ(read_json(runs / "sd35-ocr/table.json"), first);
}

TEST_F(Reproduce, TwoFoldersHoldTheSameRowsAndTables) {
  auto a = place.json(smoke({"--json", "--out", "a"})),
       b = place.json(smoke({"--json", "--out", "b", "--jobs", "2", "--fresh"}));
  for (auto* document : {&a, &b}) {
    document->erase("artifacts");
    document->erase("wall_seconds");
  }
  EXPECT_EQ(a, b);
  EXPECT_EQ(place.metric_rows("a/results.sqlite"), place.metric_rows("b/results.sqlite"));
  EXPECT_EQ(place.metric_rows("a/results.sqlite"), undisturbed_rows());
}

TEST_F(Reproduce, TableCompareAndGridWorkFromTheDbAlone) {
  const auto result = place.json(smoke({"--json"}));
  EXPECT_EQ(place.json({"table", "sd35-ocr", "--format", "json"}), result);
  for (const char* format : {"md", "latex", "csv", "html"}) ok({"table", "--format", format});
  place.sql("UPDATE reproductions SET spec = json_set(spec, '$.equal_rows', json('true'))");
  EXPECT_EQ(place.json({"table", "sd35-ocr", "--json"}), result) << "0.1.0 recorded such a key";
  const auto compared = place.json(
      {"compare", "ratio-norm", "lambda-controlled", "--metric", "ocr_reward", "--split", "test", "--json"});
  const auto& comparison = compared.at("comparisons").at(0);
  const auto same =
      entry(result.at("comparisons"),
            {{"baseline", "ratio-norm"}, {"method", "lambda-controlled"}, {"metric", "ocr_reward"}});
  for (const char* field : {"n", "delta", "ci95", "wins", "ties", "losses", "p_value"})
    EXPECT_EQ(comparison.at(field), same.at(field)) << field;
  const auto row =
      place
          .rows(
              "SELECT avg(delta) AS d, count(delta) AS n FROM v_paired WHERE baseline = 'ratio-norm' "
              "AND method = 'lambda-controlled' AND metric = 'ocr_reward' AND split = 'test'")
          .at(0);
  EXPECT_NEAR(row.at("d").get<double>(), comparison.at("delta").get<double>(), 1e-12);
  EXPECT_EQ(row.at("n"), comparison.at("n"));
  ok({"grid", "-n", "3", "--pick", "wins,failures", "-o", "figures"});
  EXPECT_TRUE(fs::exists(place.folder() / "figures/grid.png"));
}

TEST_F(Reproduce, ADryRunAfterItShowsAllDoneAndChangesNoFile) {
  make();
  // Checksums by path; SQLite's shared-memory and (empty) log files next to the DB come with reading it.
  const auto contents = [&] {
    std::string listing;
    for (const auto& entry : fs::recursive_directory_iterator(runs)) {
      const auto name = entry.path().filename().string();
      if (name == "results.sqlite-shm" || (name == "results.sqlite-wal" && fs::file_size(entry.path()) == 0))
        continue;
      listing +=
          entry.path().string() + (entry.is_regular_file() ? " " + sha256_file(entry.path()) : "") + "\n";
    }
    return listing;
  };
  const auto before = contents();
  const auto plan = place.json(smoke({"--dry-run", "--json"}));
  for (const auto& job : plan.at("jobs")) EXPECT_TRUE(job.at("done").get<bool>()) << job;
  EXPECT_EQ(plan.at("estimate").at("seconds"), 0);
  EXPECT_EQ(contents(), before);
  // Without the DB it knows as much from the journal, as `reproduce` would, and makes none.
  for (const char* part : {"", "-wal", "-shm"}) fs::remove(runs / (std::string("results.sqlite") + part));
  EXPECT_EQ(place.json(smoke({"--dry-run", "--json"})).at("jobs"), plan.at("jobs"));
  EXPECT_FALSE(fs::exists(runs / "results.sqlite"));
}

TEST_F(Reproduce, AnotherSettingOrOtherWeightsAreANewRun) {
  const auto ids = [&](const Words& more) { return job_ids(place, smoke(more)); };
  const auto usual = ids({});
  EXPECT_EQ(ids({}), usual);
  EXPECT_EQ(ids({"--jobs", "2", "--out", "elsewhere", "--set", "lr=0.00012"}), usual);
  EXPECT_NE(ids({"--set", "lr=1e-4"}), usual);
  EXPECT_NE(ids({"--seeds", "43"}), usual);
  const auto changed = ids({"--set", "lambda-controlled.kappa=0.1"});
  EXPECT_EQ(changed[0], usual[0]);
  EXPECT_NE(changed[2], usual[2]);
  Workplace::write_weights(place.folder() / "other", 2);
  EXPECT_NE(ids({"--weights", "other"}), usual);
}

TEST_F(Reproduce, SubsetsAndSeedsShareTheirRuns) {
  const auto one = place.json(smoke({"--json", "--methods", "dual"}));
  EXPECT_EQ(one.at("rows").size(), 1u);
  const auto two = place.json(smoke({"--json", "--seeds", "42,43"}));
  EXPECT_EQ(two.at("rows").size(), 6u);
  const auto listed = place.json({"list", "runs", "--json"});
  EXPECT_EQ(listed.size(), 8u);
  EXPECT_EQ(two.at("comparisons").at(0).at("test"), "paired-t-clustered");
}

TEST_F(Reproduce, RowsWithoutTheTablesBaselineSayWhatIsInItsPlace) {
  const auto notes = [&](const std::string& methods) {
    return place.json(smoke({"--dry-run", "--json", "--methods", methods})).at("notes");
  };
  EXPECT_EQ(notes("dual,lambda-controlled"),
            Json::array({"Row ratio-norm, the table's baseline, is left out: dual is in its place."}));
  EXPECT_EQ(notes("dual"), Json::array()) << "one row has no baseline";
  EXPECT_EQ(notes("dual,ratio-norm"), Json::array());
  EXPECT_EQ(notes("base,dual,ratio-norm"), Json::array()) << "base is a row by itself";
  fails(2, smoke({"--methods", "base"}), {"--methods base: base alone is nothing to compare"});
}

TEST_F(Reproduce, ABaselineThatIsAskedForMakesAFamilyOfComparisonsOfItsOwnOnTheSameRuns) {
  const Words methods = {"--methods", "ratio-norm,dual,lambda-controlled"};
  ok(smoke(methods));
  const auto runs_before = place.count("runs"), evaluations = place.count("evaluations");
  const auto asked = smoke(with(methods, {"--baseline", "dual"}));
  const auto note =
      std::string("Baseline: dual, asked for with --baseline; without it the baseline is ratio-norm.");
  ok(with(asked, {"--dry-run"}), {note});
  const auto table = place.json(with(asked, {"--json"}));
  std::set<std::pair<std::string, std::string>> compared;
  for (const auto& c : table.at("comparisons")) {
    if (c.at("baseline") != "base") compared.emplace(c.at("baseline"), c.at("method"));
  }
  EXPECT_EQ(compared, (std::set<std::pair<std::string, std::string>>{{"dual", "lambda-controlled"},
                                                                     {"dual", "ratio-norm"}}));
  EXPECT_EQ(place.count("runs"), runs_before);
  EXPECT_EQ(place.count("evaluations"), evaluations);
  EXPECT_THAT(table.at("signature").get<std::string>(), HasSubstr(" | baseline dual | "));
  EXPECT_THAT(read_file(runs / "experiments/2-sd35-ocr/table.md"), HasSubstr(note));
  EXPECT_THAT(place.ok({"table", "1"}).out, Not(HasSubstr("baseline dual")));
  ok(asked);
  ok(smoke(methods));
  EXPECT_EQ(place.count("reproductions"), 2) << "each is found again";
  ok({"check", "2"});
  // Neither is the fuller one of the other's family.
  const auto fewer = place.run(smoke({"--methods", "ratio-norm,dual", "--baseline", "dual"}));
  EXPECT_THAT(fewer.out, HasSubstr("Experiment 2 holds these runs and more"));
  EXPECT_THAT(fewer.out, Not(HasSubstr("Experiment 1 holds")));
}

TEST_F(Reproduce, ABaselineIsOneOfTheRows) {
  fails(2, smoke({"--baseline", "daul"}),
        {R"(--baseline: "daul" is not among the rows: )", R"(did you mean "dual"?)"});
  fails(2, smoke({"--methods", "dual", "--baseline", "ratio-norm"}), {"is not among the rows: dual"});
  fails(2, smoke({"--baseline", "base"}), {"every row is compared with base in any case"});
  const auto usual = place.json(smoke({"--dry-run", "--json", "--baseline", "ratio-norm"}));
  EXPECT_EQ(usual.at("notes"), Json::array()) << "the table's own";
}

TEST_F(Reproduce, TheTimeOfAPlanLeavesOutTheStartOfWhatWasMeasured) {
  make();
  // Of 0.5 s the fake worker says that 0.25 s were its start.
  const auto plan = place.json({"reproduce", "sd35-ocr", "--seeds", "7", "--dry-run", "--json"});
  EXPECT_TRUE(plan.at("estimate").at("measured").get<bool>());
  const double measured = place.rows("SELECT avg(n) AS n FROM evaluations").at(0).at("n");
  const auto job = entry(plan.at("jobs"), {{"kind", "evaluate"}});
  EXPECT_NEAR(job.at("seconds").get<double>(), 0.25 + 256 / measured * 0.25, 1e-9);
}

TEST_F(Reproduce, ADeadWorkerIsNamedWithItsStatusAndTheEndOfItsLog) {
  place.environment["HARNESS_FAKE_MODE"] = "die";
  place.environment["HARNESS_FAKE_KIND"] = "train";
  fails(1, kSmoke, {"train ratio-norm (seed 42)", "exit status 3", "fake worker: asked to die"});
  EXPECT_EQ(query("SELECT DISTINCT kind, failure FROM jobs WHERE state = 'failed'"),
            "kind,failure\ntrain,died with exit status 3\n");
  place.environment["HARNESS_FAKE_MODE"] = "crash";
  EXPECT_THAT(place.run(kSmoke).err, HasSubstr("signal 6"));
  place.environment.erase("HARNESS_FAKE_MODE");
  ok(kSmoke);
  EXPECT_EQ(place.metric_rows(), undisturbed_rows());
}

TEST_F(Reproduce, AWorkersOwnReasonIsPassedOn) {
  place.environment["HARNESS_FAKE_MODE"] = "fail";
  const auto error = place.json(smoke({"--json"}), 1).at("error");
  EXPECT_EQ(error.at("what"), "the disk is full");
  EXPECT_EQ(error.at("hint"), "free some space");
  place.environment.erase("HARNESS_FAKE_MODE");
  ok(kSmoke);
}

TEST_F(Reproduce, AnInputThatAWorkerRefusesIsStatus2) {
  place.environment["HARNESS_FAKE_MODE"] = "refuse";
  fails(2, kSmoke, {"vae/model.safetensors: has a tensor of another shape"});
}

TEST_F(Reproduce, WeightsThatLackAFileAreRefusedBeforeAnythingIsWritten) {
  Workplace::write_weights(place.folder() / "other", 2);
  fs::rename(place.folder() / "other/model.safetensors", place.folder() / "other/another.safetensors");
  fails(2, smoke({"--weights", "other"}), {"lacks model.safetensors"});
  EXPECT_FALSE(fs::exists(runs));
}

TEST_F(Reproduce, WhatAJobWantsSaidStandsUnderTheTableOnce) {
  const auto table = place.run(kSmoke).out;
  const auto first = table.find("The fake worker draws no text.");
  ASSERT_NE(first, std::string::npos);
  EXPECT_EQ(table.find("The fake worker draws no text.", first + 1), std::string::npos);
}

TEST_F(Reproduce, ExperimentsOfOneWorkspaceAreToldApart) {
  const auto first = place.json(smoke({"--json"}));
  const auto again = place.run(smoke({"--json", "--set", "lr=1e-4"}));
  const auto second = parse_json(again.out, "stdout");
  EXPECT_THAT(
      again.err,
      HasSubstr("now leads to experiment 2; the files of experiment 1 are in runs/experiments/1-sd35-ocr"));
  const auto list = place.json({"list", "experiments", "--json"});
  ASSERT_EQ(list.size(), 2u);
  EXPECT_EQ(list.at(0).at("name"), "2");
  EXPECT_EQ(list.at(0).at("set"), "lr=0.0001");
  EXPECT_EQ(list.at(1).at("set"), "");
  EXPECT_EQ(place.json({"table", "sd35-ocr", "--experiment", "1", "--json"}).at("rows"), first.at("rows"));
  EXPECT_EQ(place.json({"table", "sd35-ocr", "--json"}).at("rows"), second.at("rows"));
  EXPECT_NE(first.at("rows"), second.at("rows"));
  fails(2, {"table", "--prompts", "ocr-flow-grpo"},
        {"there are:\n  2: table sd35-ocr, backbone glyph, scale smoke, prompts ocr-generated, seed 42"});
}

/// A training table of the user's own: two rows of one method, nothing to evaluate.
Json training_table() {
  return parse_json(R"json({
    "id": "mine", "kind": "training", "title": "two learning rates", "task": "ocr", "backbone": "tiny-sd3",
    "methods": [{"name": "c 0.5", "method": "dual", "settings": {"beta_max": 5}}, "dual"],
    "baseline": "dual", "seeds": [42, 43], "checkpoints": [6], "window": {"last": 4},
    "settings": {"updates": 6},
    "columns": [{"name": "lambda_center_0", "stat": "lambda_center", "timestep": 0, "better": "lower"},
                {"name": "reward_mean", "on_policy_too": true}],
    "claims": [{"claim": "the first row moves less", "rule": "lower-on-every-seed", "column": "lambda_center_0",
                "method": "c 0.5", "against": "dual"}]
  })json",
                    "test");
}

TEST_F(Reproduce, ATrainingTableIsMadeOfStatisticsAndEvaluatesNothing) {
  place.write("mine.json", training_table());
  const auto table = place.json({"reproduce", "--table", "mine.json", "--json"});
  ASSERT_EQ(table.at("rows").size(), 4u);
  EXPECT_EQ(table.at("reference").size(), 0u);
  for (const auto& row : table.at("rows")) {
    EXPECT_EQ(row.at("split"), "train");
    EXPECT_EQ(row.at("n"), 4);
    // Updates 3 to 6; the odd ones are on-policy and enter the reward only.
    const auto mean = [&](const std::string& where) {
      return place
          .rows("SELECT avg(value) AS m FROM v_training WHERE method = '" +
                row.at("method").get<std::string>() + "' AND seed = " + row.at("seed").dump() +
                " AND update_index > 2 AND " + where)
          .at(0)
          .at("m")
          .get<double>();
    };
    EXPECT_NEAR(row.at("metrics").at("lambda_center_0").at("mean").get<double>(),
                mean("name = 'lambda_center' AND timestep = 0 AND on_policy = 0"), 1e-12);
    EXPECT_NEAR(row.at("metrics").at("reward_mean").at("mean").get<double>(), mean("name = 'reward_mean'"),
                1e-12);
  }
  EXPECT_EQ(table.at("claims").size(), 1u);
  EXPECT_TRUE(table.at("claims").at(0).at("holds").is_null());
  EXPECT_THAT(table.at("claims").at(0).at("detail").get<std::string>(),
              HasSubstr("needs at least 3 training runs, 2 here"));
  EXPECT_EQ(place.count("evaluations"), 0);
  EXPECT_EQ(place.json({"table", "mine", "--json"}), table);
  const auto comparison = place.json({"compare", "dual", "c 0.5", "--metric", "lambda_center_0", "--json"});
  EXPECT_EQ(comparison.at("comparisons").at(0).at("n"), 2);
  fails(2, {"grid", "mine"});
}

/// Writes lambda_center of the first step into the runs of an experiment, all updates alike: by row, for
/// seeds 42, 43, 44.
void write_lambda_center(const fs::path& workspace,
                         const std::map<std::string, std::vector<double>>& by_row) {
  SQLite::Database db((workspace / "results.sqlite").string(), SQLite::OPEN_READWRITE);
  SQLite::Statement update(
      db,
      "UPDATE train_stats SET value = ? WHERE name = 'lambda_center' AND timestep = 0 AND run_id = (SELECT "
      "id FROM runs JOIN table_runs ON run_id = id WHERE coalesce(nullif(arm, ''), method) = ? AND seed = "
      "?)");
  for (const auto& [row, values] : by_row) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      update.bind(1, values[i]);
      update.bind(2, row);
      update.bind(3, static_cast<std::int64_t>(42 + i));
      EXPECT_GT(update.exec(), 0) << row;
      update.reset();
    }
  }
}

TEST_F(Reproduce, AStatementOfThePaperAboutTheTrainingIsDecidedByItsIntervalOverTheRuns) {
  auto table = training_table();
  table["seeds"] = {42, 43, 44};
  const auto claim = [](const std::string& rule, double bound) {
    Json made = {{"claim", rule}, {"rule", rule}, {"column", "lambda_center_0"}, {"method", "c 0.5"}};
    made["against"] = "dual";
    if (bound > 0) made["bound"] = bound;
    return made;
  };
  table["claims"] = {claim("lower-on-every-seed", 0), claim("higher-on-every-seed", 0),
                     claim("ratio-at-most", 0.5), claim("within", 0.1)};
  place.write("mine.json", table);
  ok({"reproduce", "--table", "mine.json"});
  const auto verdicts = [&](const std::vector<double>& ours, const std::vector<double>& theirs) {
    write_lambda_center(runs, {{"c 0.5", ours}, {"dual", theirs}});
    std::string texts;
    const auto made = place.json({"table", "mine", "--json"});
    for (const auto& one : made.at("claims"))
      texts += one.at("holds").is_null() ? "0" : one.at("holds").get<bool>() ? "+" : "-";
    return texts;
  };
  const std::vector<double> theirs = {2.0, 2.1, 1.9};
  EXPECT_EQ(verdicts({0.2, 0.21, 0.19}, theirs), "+-+-") << "a tenth on each seed";
  EXPECT_EQ(verdicts({1.5, 1.62, 1.38}, theirs), "+---") << "lower, by a quarter";
  EXPECT_EQ(verdicts({2.001, 2.101, 1.9}, theirs), "00-+") << "the same";
  EXPECT_EQ(verdicts({1.9, 2.05, 0.2}, theirs), "0000") << "lower on each, but one run alone makes the mean";
  EXPECT_EQ(verdicts({4.0, 4.12, 3.88}, theirs), "-+--") << "higher";
}

TEST_F(Figure, TheLawAuditIsOfTheMethodAskedFor) {
  make();
  ok({"figure", "law-audit", "--method", "ratio-norm", "-o", "figures"});
  EXPECT_THAT(read_file(place.folder() / "figures/law-audit-ratio-norm.svg"),
              HasSubstr("Path-variance law under RatioNorm, predicted and measured"));
  fails(2, {"figure", "law-audit", "--method", "ratio-nrom"}, {"did you mean \"ratio-norm\""});
  fails(2, {"figure", "law-audit-zclip", "--method", "dual", "--table", "sd35-ocr"});
}

TEST_F(Reproduce, AFolderInThePlaceOfTheTablesLinkIsKeptAndNoPictureInItIsTakenForOurs) {
  place.write("mine.json", training_table());
  fs::create_directories(runs / "mine");
  write_file_atomically(runs / "mine/law-audit.png", "left behind");
  const std::vector<std::string> command = {"reproduce", "--table", "mine.json", "--json"};
  const auto first = place.run(command);
  const auto artifacts = parse_json(first.out, "stdout").at("artifacts");
  EXPECT_EQ(artifacts.at("law-audit.png"), "runs/experiments/1-mine/law-audit.png");
  EXPECT_EQ(read_file(runs / "mine/law-audit.png"), "left behind");
  EXPECT_EQ(place.run(command).out, first.out);
}

TEST_F(Reproduce, WhatAUserHasInThePlaceOfTheTablesLinkStaysThere) {
  place.write("mine.json", training_table());
  const auto refuses = [&] {
    ok({"reproduce", "--table", "mine.json"}, {}, {"mine cannot be a link here", "runs/experiments/1-mine"});
  };
  fs::create_directories(runs / "mine");
  write_file_atomically(runs / "mine/notes.txt", "kept");
  refuses();
  EXPECT_EQ(read_file(runs / "mine/notes.txt"), "kept");
  fs::remove_all(runs / "mine");
  write_file_atomically(runs / "mine", "kept");
  refuses();
  EXPECT_EQ(read_file(runs / "mine"), "kept");
  fs::remove(runs / "mine");
  fs::create_symlink("elsewhere/1-mine", runs / "mine");
  refuses();
  EXPECT_EQ(fs::read_symlink(runs / "mine").string(), "elsewhere/1-mine");
}

TEST_F(Reproduce, AnExperimentOfFewerMethodsHidesNoFullerOne) {
  const auto link = [&] { return fs::read_symlink(runs / "sd35-ocr").string(); };
  ok(smoke({"--methods", "ratio-norm,dual"}));
  EXPECT_EQ(link(), "experiments/1-sd35-ocr");
  const auto fewer = place.run(smoke({"--methods", "ratio-norm"}));
  EXPECT_THAT(fewer.err, HasSubstr("still leads to experiment 1, which has more methods or seeds"));
  EXPECT_EQ(link(), "experiments/1-sd35-ocr");
  EXPECT_TRUE(fs::exists(runs / "experiments/2-sd35-ocr/table.md"));
  ok(kSmoke);
  EXPECT_EQ(link(), "experiments/3-sd35-ocr") << "of all methods";
}

TEST_F(Reproduce, RowsOfOneMethodHaveSettingsOfTheirOwn) {
  place.write("mine.json", training_table());
  std::map<std::string, Json> betas;
  for (const auto& row : place.json({"list", "settings", "--table", "mine.json", "--json"}))
    betas[row.at("name")] = row;
  EXPECT_EQ(betas.at("c 0.5.beta_max").at("value"), 5);
  EXPECT_EQ(betas.at("c 0.5.beta_max").at("origin"), "row c 0.5");
  EXPECT_EQ(betas.at("dual.beta_max").at("value"), "not set");
  const auto ids = [&](const Words& more) {
    return job_ids(place, with({"reproduce", "--table", "mine.json", "--seeds", "42"}, more));
  };
  const auto usual = ids({});
  ASSERT_EQ(usual.size(), 2u);
  EXPECT_NE(usual[0], usual[1]);
  EXPECT_EQ(ids({"--set", "c 0.5.beta_max=5"}), usual) << "a row's name may hold a dot";
  const auto one = ids({"--set", "c 0.5.beta_max=6"});
  EXPECT_EQ(one[1], usual[1]);
  EXPECT_NE(one[0], usual[0]);
  // A method's name means all of its rows.
  fails(2, {"reproduce", "--table", "mine.json", "--seeds", "42", "--set", "dual.beta_max=6", "--dry-run"},
        {"rows c 0.5 and dual are one method with the same settings"});
  EXPECT_EQ(ids({"--methods", "c 0.5"}), std::vector<std::string>{usual[0]});
  fails(2, {"power", "--table", "mine.json"},
        {"`harness reproduce --table mine.json --seeds 42..44` makes a pilot"});
}

TEST_F(Reproduce, NoNameOfARowAndNoTitleIsMarkupInTheMarkdownTable) {
  place.write("mine.json", {{"extends", "sd35-ocr"},
                            {"id", "mine"},
                            {"title", "a `b` <i>c</i>\n# d"},
                            {"baseline", "# <b>x</b>"},
                            {"methods", Json::array({{{"name", "# <b>x</b>"}, {"method", "ratio-norm"}},
                                                     {{"name", "*y* `ls`"}, {"method", "dual"}}})}});
  ok(smoke_of("mine.json"));
  const auto markdown = read_file(runs / "mine/table.md");
  EXPECT_EQ(markdown, ok({"table", "mine"}).out);
  EXPECT_THAT(markdown, HasSubstr("## mine: a `b` &lt;i>c&lt;/i> # d\n"));
  for (const char* raw : {"<b>", "<i>", "*y* ", "\n# "}) EXPECT_THAT(markdown, Not(HasSubstr(raw)));
  EXPECT_THAT(markdown, HasSubstr("&lt;b>x&lt;/b>"));
  EXPECT_THAT(markdown, HasSubstr("\\*y\\* \\`ls\\`"));
}

TEST_F(Reproduce, RowsWhoseNamesBeginAlikeHaveTheirOwnSettingsInEitherOrder) {
  const auto row = [](const std::string& name, double lr) {
    return Json{{"name", name}, {"method", "ratio-norm"}, {"settings", {{"lr", lr}}}};
  };
  for (const Json& rows :
       {Json{row("nu 1", 1e-5), row("nu 1.5", 2e-5)}, Json{row("nu 1.5", 2e-5), row("nu 1", 1e-5)}}) {
    place.write("alike.json", {{"extends", "sd35-ocr"},
                               {"id", "alike"},
                               {"reproduces", ""},
                               {"methods", rows},
                               {"baseline", "nu 1"}});
    ok({"reproduce", "--table", "alike.json", "--scale", "smoke", "--set", "nu 1.5.lr=3e-5"});
    EXPECT_EQ(place.csv("SELECT DISTINCT arm, json_extract(config, '$.settings.lr') AS lr FROM table_runs "
                        "JOIN runs ON runs.id = run_id WHERE arm <> 'base' ORDER BY 1"),
              "arm,lr\nnu 1,1e-05\nnu 1.5,3e-05\n");
    EXPECT_EQ(place.csv("SELECT DISTINCT arm FROM table_runs JOIN runs ON runs.id = run_id "
                        "WHERE requested_settings LIKE '%nu 1.5.lr%'"),
              "arm\nnu 1.5\n");
  }
}

TEST_F(Reproduce, NumbersOfExperimentsAreNeverGivenTwice) {
  make();
  ok(smoke({"--methods", "ratio-norm", "--fresh", "--force", "--yes"}), {}, {"--fresh drops experiment 1"});
  const auto list = place.json({"list", "experiments", "--json"});
  ASSERT_EQ(list.size(), 1u);
  EXPECT_EQ(list.at(0).at("name"), "2");
}

TEST_F(Reproduce, ADatabaseOfAnotherProgramIsRefusedAndNothingIsWritten) {
  place.write_text("other.sqlite", "not a database, but a file of somebody else's" + std::string(100, '.'));
  fails(2, smoke({"--db", "other.sqlite"}), {"is not an SQLite database"});
  EXPECT_FALSE(fs::exists(runs));
}

TEST_F(Reproduce, ASilentWorkerIsKilledAndNamed) {
  place.environment["HARNESS_FAKE_MODE"] = "silent";
  place.environment["HARNESS_SILENCE_MS"] = "500";
  fails(1, kSmoke, {"no sign of life"});
}

// Ctrl-Z stops the orchestrator and the worker of its job; `fg` lets both go on.
TEST_F(Reproduce, StoppedForLongerThanTheSilenceLimitItGoesOnAsBefore) {
  place.environment["HARNESS_SILENCE_MS"] = "3000";
  const auto busy = place.start_busy(kSmoke, "evaluate", 20'000);
  ::kill(busy.program, SIGSTOP);
  ::kill(busy.worker, SIGSTOP);
  std::this_thread::sleep_for(std::chrono::milliseconds(4000));
  ::kill(busy.program, SIGCONT);
  ::kill(busy.worker, SIGCONT);
  const auto outcome = place.wait(busy.program);
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(place.metric_rows(), undisturbed_rows());
}

TEST_F(Reproduce, CtrlCEndsWith130AndTheCommandThatGoesOn) {
  const auto busy = place.start_busy(smoke({"--fresh"}), "evaluate");
  const auto outcome = place.end(busy, SIGINT);
  EXPECT_EQ(outcome.status, 130);
  EXPECT_THAT(outcome.err, HasSubstr("reproduce --table sd35-ocr --scale smoke"));
  EXPECT_THAT(outcome.err, Not(HasSubstr("--fresh")));
  ok(kSmoke);
  EXPECT_EQ(place.metric_rows(), undisturbed_rows());
}

TEST_F(Reproduce, SigtermBeforeTheFirstJobOrAfterTheLastOneEndsWith130Too) {
  const auto asked = place.folder() / "asked", worker = place.folder() / "worker";
  write_file_atomically(worker, "#!/bin/sh\n: >" + asked.string() + "\nexec sleep 100\n");
  fs::permissions(worker, fs::perms::owner_all);
  const auto usual = place.environment;
  place.environment["HARNESS_WORKER"] = worker.string();
  const auto early = place.start(kSmoke);
  place.environment = usual;
  ASSERT_TRUE(wait_until([&] { return fs::exists(asked); }));
  ::kill(early, SIGTERM);
  const auto ended = place.wait(early);
  EXPECT_EQ(ended.status, 130);
  EXPECT_EQ(ended.err, "interrupted\n");

  // A reader that takes nothing holds the table back.
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const Descriptor reader(ends[0]), writer(ends[1]);
  const int room = ::fcntl(ends[1], F_SETPIPE_SZ, 4096);
  const std::string filling(static_cast<size_t>(room), ' ');
  ASSERT_EQ(::write(ends[1], filling.data(), filling.size()), room);
  const auto said = place.folder() / "said";
  const Descriptor err(::creat(said.c_str(), 0600));
  std::vector<std::string> words = {HARNESS_BINARY_DIR "/harness"};
  words.insert(words.end(), kSmoke.begin(), kSmoke.end());
  Process late(
      words,
      {.folder = place.folder(), .environment = place.environment, .out = writer.get(), .err = err.get()});
  const auto jobs_done = [&] {
    const auto text = read_file(said);
    size_t done = 0;
    for (size_t at = 0; (at = text.find(": done\n", at)) != std::string::npos; ++at) ++done;
    return done == 8;
  };
  ASSERT_TRUE(wait_until(jobs_done)) << read_file(said);
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  ASSERT_FALSE(late.has_ended());
  ::kill(late.pid(), SIGTERM);
  EXPECT_EQ(late.wait().code, 130);
  ok(kSmoke);
  EXPECT_EQ(place.metric_rows(), undisturbed_rows());
}

TEST_F(Reproduce, ASecondOneInTheSameFolderSaysWhoIsThere) {
  const auto busy = place.start_busy(kSmoke, "evaluate");
  Workplace other;
  other.fails(1, smoke({"--out", runs.string()}), {"pid " + std::to_string(busy.program)});
  EXPECT_EQ(place.end(busy, SIGTERM).status, 130);
}

TEST_F(Reproduce, AnotherBuildDoesNotContinueARun) {
  const auto busy = place.start_busy(kSmoke, "evaluate");
  ASSERT_EQ(place.end(busy, SIGINT).status, 130);
  const auto other = place.folder() / "harness-fake-worker";
  write_file_atomically(other, read_file(place.environment.at("HARNESS_WORKER")) + "another build");
  fs::permissions(other, fs::perms::owner_all);
  place.environment["HARNESS_WORKER"] = other.string();
  fails(2, kSmoke, {"another build", "--fresh"});
  ok(smoke({"--fresh"}));
}

TEST_F(Reproduce, ATableOfManyRowsHasAGridThatIsTooWideForAPage) {
  Json rows = Json::array();
  for (int i = 1; i <= 16; ++i)
    rows.push_back(
        {{"name", fmt::format("r{}", i)}, {"method", "ratio-norm"}, {"settings", {{"lr", 1e-5 * i}}}});
  place.write(
      "many.json",
      {{"extends", "sd35-ocr"}, {"id", "many"}, {"reproduces", ""}, {"methods", rows}, {"baseline", "r1"}});
  ok({"reproduce", "--table", "many.json", "--scale", "smoke"}, {"grid.png"});
  EXPECT_TRUE(fs::exists(place.folder() / "runs/many/grid.png"));
  EXPECT_FALSE(fs::exists(place.folder() / "runs/many/grid.pdf"));
  ok({"reproduce", "--table", "many.json", "--scale", "smoke"});
  ok({"grid", "many"}, {"grid.png"},
     {"note: 17 columns do not fit a width of 16.5 cm: there is no grid.pdf"});
  ok({"grid", "many", "--width", "40"}, {"own/grid.pdf"});
  fails(2, {"grid", "many", "--width", "single"}, {"17 columns do not fit a width of 8.0 cm"});
}

struct Kill {
  const char *kind, *victim;
};

class KilledReproduce : public SmokeTest, public ::testing::WithParamInterface<Kill> {};

TEST_P(KilledReproduce, EndsWithTheSameRowsWhenRepeated) {
  const auto [kind, victim] = GetParam();
  const auto busy = place.start_busy(kSmoke, kind);
  ::kill(std::string(victim) == "worker" ? busy.worker : busy.program, SIGKILL);
  const auto killed = place.wait(busy.program);
  EXPECT_NE(killed.status, 0);
  ok(kSmoke);
  EXPECT_EQ(place.metric_rows(), undisturbed_rows());
}

INSTANTIATE_TEST_SUITE_P(AtEveryPoint, KilledReproduce,
                         ::testing::Values(Kill{"train", "worker"}, Kill{"train", "orchestrator"},
                                           Kill{"evaluate", "worker"}, Kill{"evaluate", "orchestrator"}),
                         [](const auto& param) {
                           return std::string(param.param.kind) + "_" + param.param.victim;
                         });

/// Rows of three runs at scale smoke, ranked at equal images and at equal evaluations.
Json leaderboard_table() {
  return {{"extends", "sd35-ocr"},
          {"id", "mine"},
          {"reproduces", ""},
          {"seeds", {42, 43, 44}},
          {"tuning", {{"dual", 9}}},
          {"leaderboard", {{"groups", true}, {"second_view", "nfe_total"}}},
          {"prompts", {{"default", "ocr-dark-generated"}, {"default_train", "ocr-dark-train-generated"}}},
          {"columns", Json::array({{{"name", "ocr_reward"}},
                                   {{"name", "images"}},
                                   {{"name", "nfe_total"}},
                                   {{"name", "seconds"}},
                                   {{"name", "tuning"}}})},
          {"scales", {{"smoke", {{"judges", true}}}}}};
}

TEST_F(Reproduce, ALeaderboardTestsOnceAViewAndSaysWhatEachRunSpent) {
  place.write("mine.json", leaderboard_table());
  place.environment["HARNESS_FAKE_SPENT"] = "1";
  const Words command{"reproduce", "--table", "mine.json", "--scale", "smoke", "--json"};
  const auto result = place.json(command);
  const auto& board = result.at("leaderboard");
  // The fake worker's dual makes 560 evaluations an update, the others 1280, for six updates.
  for (const auto& row : board.at("rows")) {
    const auto method = row.at("method");
    const Json cut = method == "ratio-norm" ? Json() : Json(method == "dual" ? 6 * 560 : 6 * 1280);
    EXPECT_EQ(row.at("equal_nfe_total"), cut) << method;
    EXPECT_EQ(row.at("at_evaluations").is_null(), cut.is_null()) << method;
  }
  EXPECT_EQ(board.at("rows").size(), 3u);
  EXPECT_EQ(board.at("cut_too_early"), Json::array());
  EXPECT_EQ(board.at("pairs"), 3);
  for (const auto& row : board.at("rows")) {
    EXPECT_NE(row.at("groups"), "");
    EXPECT_EQ(row.at("standing") == "baseline", row.at("method") == "ratio-norm");
  }
  EXPECT_EQ(
      place.rows("SELECT r.method, count(*) AS n FROM selections AS s JOIN runs AS r ON r.id = s.run_id "
                 "WHERE s.rule = 'max-mean within nfe_total' GROUP BY 1 ORDER BY 1"),
      parse_json(R"([{"method": "dual", "n": 3}, {"method": "lambda-controlled", "n": 3},
                           {"method": "ratio-norm", "n": 6}])",
                 "test"))
      << "of the baseline one a run for each cut";
  EXPECT_EQ(place.rows("SELECT max(c.step) AS step FROM selections AS s JOIN checkpoints AS c ON c.id = "
                       "checkpoint_id JOIN runs AS r ON r.id = s.run_id WHERE s.rule = 'max-mean within "
                       "nfe_total' AND r.method = 'ratio-norm' AND json_array_length(s.candidates) = 1"),
            Json::array({{{"step", 2}}}))
      << "the baseline had spent 2560 at checkpoint 2, 5120 at 4, and dual 3360 at its last";
  for (const auto& row : board.at("rows")) {
    const auto method = row.at("method").get<std::string>();
    if (method == "dual") {
      EXPECT_EQ(row.at("spent_within"), (Json{3360, 2560})) << "at checkpoints 6 and 2";
    }
  }
  EXPECT_EQ(place.count("evaluations WHERE split = 'test' AND peek"), 0);
  EXPECT_EQ(place.rows("SELECT name FROM prompt_sets ORDER BY name"),
            Json::array({{{"name", "ocr-dark-generated"}}, {{"name", "ocr-dark-train-generated"}}}))
      << "the table's own defaults";
  for (const auto& row : result.at("rows")) {
    EXPECT_EQ(row.at("spent").contains("tuning"), row.at("method") == "dual");
    EXPECT_EQ(row.at("spent").at("seconds"), row.at("checkpoint").get<int>() / 4.0);
    EXPECT_EQ(row.at("spent").at("images"), 32 * row.at("checkpoint").get<int>());
  }
  EXPECT_EQ(result.at("rows").size(), 9u) << "the second view's tests are no rows";
  EXPECT_EQ(place.json(command).at("leaderboard"), board) << "answered from the DB";
  for (const auto& row : board.at("rows")) {
    const auto method = row.at("method").get<std::string>();
    if (method == "ratio-norm") continue;
    for (const Words& pair : {Words{"ratio-norm", method}, Words{method, "ratio-norm"}}) {
      const auto asked = place.json({"compare", pair[0], pair[1], "--metric", "ocr_reward", "--json"});
      const auto& c = asked.at("comparisons").at(0);
      for (const char* field : {"p_adjusted", "level"})
        EXPECT_EQ(c.at(field), row.at(field)) << field << ": " << pair[0] << ", " << pair[1];
      const bool holds = row.at("standing") == "better" || row.at("standing") == "worse";
      EXPECT_EQ(c.at("resolved"), holds) << c << row;
    }
  }
  for (const auto& one : board.at("rows")) {
    for (const auto& other : board.at("rows")) {
      const auto first = one.at("method").get<std::string>(), second = other.at("method").get<std::string>();
      if (first >= second || first == "ratio-norm" || second == "ratio-norm") continue;
      const auto c = place.json({"compare", first, second, "--metric", "ocr_reward", "--json"});
      EXPECT_EQ(c.at("comparisons").at(0).at("exploratory"), true) << "whatever the letters say";
      EXPECT_EQ(c.at("comparisons").at(0).at("resolved"), false) << first << ", " << second;
    }
  }
  place.fails(2, {"table", "mine", "--part", "leaderboard", "--columns", "cer"},
              {"--columns: the leaderboard is of one metric"});
  // A plan is at the level that the comparison is then tested with first, whichever of its rows is named
  // first.
  for (const Words& asked : {Words{"ratio-norm", "dual"}, Words{"dual", "ratio-norm"}, Words{"dual", "base"},
                             Words{"dual", "lambda-controlled"}}) {
    for (const char* metric : {"ocr_reward", "cer", "dark_share"}) {
      const auto plan = place.json(
          {"power", "--table", "mine", "--rows", asked[0] + "," + asked[1], "--metric", metric, "--json"});
      const auto c =
          place.json({"compare", asked[0], asked[1], "--metric", metric, "--json"}).at("comparisons");
      const auto& planned = plan.at("differences").at(0);
      EXPECT_EQ(planned.at("level").get<double>() < 0.049, c.at(0).at("exploratory") == false)
          << asked[0] << ", " << asked[1] << ", " << metric;
      const auto &ours = planned.at("methods").at("detectable"), &theirs = c.at(0).at("detectable");
      ASSERT_EQ(ours.is_null(), theirs.is_null()) << asked[0] << ", " << asked[1] << ", " << metric;
      if (ours.is_null()) continue;
      EXPECT_NEAR(ours.get<double>(), theirs.get<double>(), 1e-9)
          << asked[0] << ", " << asked[1] << ", " << metric;
    }
  }
  const auto rules = place.json({"check", "mine", "--json"});
  for (const auto& rule : rules.at("rules")) EXPECT_EQ(rule.at("passed"), true) << rule;
  EXPECT_THAT(ok({"query", "budgets", "-p", "method", "dual"}).out, HasSubstr("nfe_total"));
}

}  // namespace
}  // namespace harness::test
