#include "core/sha256.h"
#include "tests/harness/workplace.h"

namespace harness::test {
namespace {

using QueryCommand = SmokeTest;

using QueryOfARun = FinishedRun;

// What the library refuses (tests/results/query_test.cpp), the program refuses with a status, too.
TEST_F(QueryOfARun, HostileSqlEndsWithAStatusAndLeavesEveryFile) {
  const auto db = place().folder() / "runs/results.sqlite";
  const auto hash = sha256_file(db);
  const auto out = (place().folder() / "out").string();
  const std::vector<std::string> refused = {
      "WITH x AS (SELECT 1) DELETE FROM runs",
      "ATTACH '" + out + "' AS evil",
      "VACUUM INTO '" + out + "'",
      "PRAGMA writable_schema = ON",
      "SELECT load_extension('" + out + "')",
      "SELECT 1; DROP TABLE runs",
      "CREATE TEMP TRIGGER evil BEFORE DELETE ON runs BEGIN SELECT 1; END",
      "SELECT writefile('" + out + "', 'x')",
      "SELECT readfile('/etc/passwd')",
      "SELECT edit('x')",
      "SELECT zeroblob(2000000000)",
      "SELECT instr(zeroblob(15000000), zeroblob(7000000))",
      "SELECT " + std::string(5000, '(') + "1" + std::string(5000, ')'),
      "WITH RECURSIVE c (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT "
      "group_concat(zeroblob(1000000)) FROM c",
      "-- nothing",
      ""};
  for (const auto& sql : refused) {
    const auto outcome = place().run({"query", sql});
    EXPECT_TRUE(outcome.status == 1 || outcome.status == 2) << sql << ": " << outcome.status;
    EXPECT_EQ(outcome.out, "") << sql;
    EXPECT_THAT(outcome.err, HasSubstr("error: ")) << sql;
    EXPECT_EQ(sha256_file(db), hash) << sql;
  }
  EXPECT_FALSE(fs::exists(out));
  const auto bound =
      place().run({"query", "SELECT :x AS x", "-p", "x", "1'; DROP TABLE runs; --", "--format", "csv"});
  EXPECT_EQ(bound.out, "x\n1'; DROP TABLE runs; --\n");
  EXPECT_EQ(sha256_file(db), hash);
}

TEST_F(QueryOfARun, AParameterMayBeTheEmptyTextButItsNameMayNot) {
  const auto bound = place().run({"query", "SELECT typeof(:x) AS type, length(:x) AS length, :y AS y", "-p",
                                  "x", "", "-p", "y", "z", "--format", "csv"});
  EXPECT_EQ(bound.out, "type,length,y\ntext,0,z\n");
  place().fails(2, {"query", "SELECT :x", "-p", "", "x"}, {"--param: is empty"});
}

TEST_F(QueryCommand, ListsEverySavedQueryWithItsParameters) {
  ok({"query", "--list"}, {"by-prompt", "spend", "law", "failures", "comparisons", "easiest", "hardest",
                           "geneval-tags", "geneval-reasons", "geneval-judgements", "detections"});
}

/// A workspace of three seeds, evaluated again with a scorer more and with another sampler, and trained again
/// with another learning rate.
class GrownWorkspace : public testing::Test {
 protected:
  static Workplace& place() {
    static Workplace grown;
    return grown;
  }
  static void SetUpTestSuite() {
    fs::create_directories(place().folder() / "scorers");
    fs::copy(fs::path(HARNESS_SOURCE_DIR) / "scripts/example-scorer", place().folder() / "scorers",
             fs::copy_options::recursive);
    reproduce({"--seeds", "42,43,44"});
    reproduce({"--scorers", "scorers"});
    reproduce({"--set", "eval_steps=5"});
    reproduce({"--set", "lr=0.001"});
  }

  static void reproduce(const Words& more) { place().ok(smoke(more)); }
  static Json rows(const std::string& sql) { return place().rows(sql); }
};

TEST_F(GrownWorkspace, APairOfRunsHasOneRowAMetricPromptAndSample) {
  EXPECT_EQ(
      rows("SELECT DISTINCT n, prompts FROM (SELECT count(*) AS n, count(DISTINCT prompt_id) AS prompts FROM "
           "v_paired WHERE split = 'test' GROUP BY table_id, scale, baseline_run, method_run, metric)"),
      parse_json(R"([{"n": 48, "prompts": 48}])", ""));
  EXPECT_EQ(
      rows("SELECT baseline, method, count(*) / 48 AS pairs FROM v_paired WHERE split = 'test' AND metric = "
           "'ocr_reward' AND method = 'dual' AND baseline IN ('base', 'ratio-norm') GROUP BY baseline"),
      parse_json(R"([{"baseline": "base", "method": "dual", "pairs": 4},
                           {"baseline": "ratio-norm", "method": "dual", "pairs": 4}])",
                 ""))
      << "three seeds, and one of another learning rate";
  EXPECT_EQ(
      rows("SELECT count(*) AS n FROM (SELECT 1 FROM v_paired WHERE split = 'test' AND metric = 'ocr_reward' "
           "AND method <> 'base' AND baseline <> 'base' GROUP BY baseline_run, method_run HAVING "
           "(SELECT json_extract(config, '$.settings.lr') FROM runs WHERE id = baseline_run) <> "
           "(SELECT json_extract(config, '$.settings.lr') FROM runs WHERE id = method_run))"),
      parse_json(R"([{"n": 0}])", ""));
}

TEST_F(GrownWorkspace, ACheckpointHasOneResultAMetric) {
  EXPECT_EQ(
      rows("SELECT max(n) AS n FROM (SELECT count(*) AS n FROM v_results GROUP BY table_id, scale, run_id, "
           "checkpoint, split, prompt_set, metric)"),
      parse_json(R"([{"n": 1}])", ""));
  EXPECT_EQ(rows("SELECT count(*) AS n FROM v_evaluations WHERE method = 'dual' AND seed = 42 AND split = "
                 "'test' AND metric = 'ocr_reward'"),
            parse_json(R"([{"n": 4}])", ""));
}

TEST_F(GrownWorkspace, ByPromptAveragesWhatCompareCompares) {
  for (const char* experiment : {"1", "2", "3", "4"}) {
    const auto compared =
        place().json({"compare", "ratio-norm", "lambda-controlled", "--metric", "ocr_reward", "--split",
                      "test", "--experiment", experiment, "--json"});
    const auto& whole = compared.at("comparisons").at(0);
    const auto prompts = place().json({"query", "by-prompt", "-p", "baseline", "ratio-norm", "-p", "method",
                                       "lambda-controlled", "-p", "experiment", experiment, "-p", "n", "1000",
                                       "--format", "json"});
    ASSERT_EQ(prompts.size(), 48U);
    double sum = 0;
    int pairs = 0;
    for (const auto& prompt : prompts) {
      if (prompt.at("delta").is_null()) continue;  // the fake scorer fails at one position
      EXPECT_EQ(prompt.at("pairs"), experiment == std::string("1") ? 3 : 1);
      pairs += prompt.at("pairs").get<int>();
      sum += prompt.at("pairs").get<int>() * prompt.at("delta").get<double>();
    }
    EXPECT_GT(pairs, 40);
    EXPECT_EQ(whole.at("n"), pairs);
    EXPECT_NEAR(whole.at("delta").get<double>(), sum / pairs, 1e-12);
  }
}

TEST_F(GrownWorkspace, ASavedQueryTakesTheLastExperimentThatFitsAndNamesIt) {
  place().ok({"query", "hardest", "-p", "n", "1"}, {},
             {"experiment 4: table sd35-ocr, backbone glyph, scale smoke, prompts "});
  reproduce({"--methods", "ratio-norm", "--set", "lr=0.002"});
  place().ok({"query", "by-prompt", "-p", "baseline", "base", "-p", "method", "dual"}, {},
             {"experiment 4: "});
  place().ok({"query", "hardest"}, {}, {"experiment 5: "});
}

TEST_F(GrownWorkspace, ARebuiltDatabaseGivesTheSamePairs) {
  const std::string sql =
      "SELECT baseline_run, method_run, metric, split, count(*) AS n, sum(delta) AS d, baseline_evaluation "
      "FROM v_paired GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4";
  const auto before = rows(sql);
  place().ok({"db", "rebuild"});
  EXPECT_EQ(rows(sql), before);
}

TEST_F(QueryOfARun, NoHeadingsStandAloneForAReader) {
  const auto none = place().ok({"query", "SELECT method FROM runs WHERE 0"});
  EXPECT_EQ(none.out, "");
  EXPECT_EQ(none.err, "no rows\n");
  EXPECT_EQ(place().csv("SELECT method FROM runs WHERE 0"), "method\n");
}

TEST_F(QueryCommand, SpendTakesTheMetricThatTheTableSelectsBy) {
  ok(smoke_of("sd35-pickscore"));
  for (const auto& row : place.rows("spend")) EXPECT_EQ(row.at("metric"), "glyph_clip");
  fails(2, {"query", "spend", "-p", "metric", "pickscore"},
        {"glyph_clip replaces pickscore in experiment 1 (backbone glyph); give -p metric glyph_clip"});
  fails(2, {"compare", "ratio-norm", "lambda-controlled", "--metric", "pickscore"},
        {"glyph_clip replaces pickscore in experiment 1 (backbone glyph); give "
         "--metric glyph_clip"});
}

TEST_F(QueryCommand, AValidationTableIsLookedAtOnItsOwnSplit) {
  ok(smoke_of("sd35-pickscore-val"));
  const auto compared = place.json({"compare", "ratio-norm", "lambda-controlled", "--json"});
  EXPECT_EQ(compared.at("split"), "validation");
  const auto prompts = place.json({"query", "by-prompt", "-p", "baseline", "ratio-norm", "-p", "method",
                                   "lambda-controlled", "--format", "json"});
  EXPECT_EQ(prompts.size(), 20U);
  fails(2, {"compare", "ratio-norm", "lambda-controlled", "--split", "test"});
}

TEST_F(QueryCommand, AWorkspaceThatIsNotThereIsAnErrorWhereItWasNamed) {
  ok({"list", "experiments"});
  for (const char* list : {"experiments", "runs"}) {
    fails(2, {"list", list, "--out", "nowhere"}, {"there is no workspace at nowhere"});
    fails(2, {"list", list, "--db", "nowhere.sqlite"});
  }
}

}  // namespace
}  // namespace harness::test
