#include "results/query.h"

#include "core/text.h"
#include "results/format.h"
#include "results/saved_queries.h"
#include "tests/results/store_fixture.h"

namespace harness {
namespace {

class Queries : public StoreTest {
 protected:
  Queries() {
    store().record_run(a_run("r1", "dual"));
    store().record_checkpoint({.run_id = "r1", .step = 40, .lambda_late = 0.01});
    evaluated(an_evaluation("e1", "r1", 40), {0.25, std::nullopt, 0.5, 1});
    close();
  }

  using Params = std::vector<std::pair<std::string, std::string>>;

  ResultSet query(const std::string& sql, const Params& params = {}) const {
    return run_query(db(), {.sql = sql, .params = params});
  }
  Error refusal(const std::string& sql, const Params& params = {}) const {
    return error_of([&] { query(sql, params); });
  }
  std::string text(const std::string& sql, QueryFormat format) const {
    return format_rows(query(sql), format);
  }
};

TEST_F(Queries, RowsKeepTheirTypes) {
  const auto rows = query("SELECT 1, 0.5, 'a', NULL, x'00ff'");
  ASSERT_EQ(rows.rows.size(), 1U);
  EXPECT_EQ(rows.rows[0], (std::vector<SqlValue>{std::int64_t{1}, 0.5, "a", std::monostate{},
                                                 Blob{std::string("\0\xff", 2)}}));
}

TEST_F(Queries, ViewsAreThere) {
  const auto rows = query("SELECT method, checkpoint, split, metric, mean, n, lambda_late FROM v_results");
  ASSERT_EQ(rows.rows.size(), 1U);
  EXPECT_EQ(rows.rows[0][5], SqlValue(std::int64_t{3}));
}

TEST_F(Queries, TrailingSemicolonAndCommentsAreNoSecondStatement) {
  EXPECT_EQ(query("-- first\nSELECT 1; -- done\n /* and done */ ;").rows.size(), 1U);
}

TEST_F(Queries, ParametersBindByNameAsNumbersOrText) {
  const auto rows =
      query("SELECT typeof(:a), typeof(:b), typeof(@c), typeof($d), typeof(:e), typeof(:f)",
            {{"a", "42"}, {"b", "0.5"}, {"c", "dual"}, {"d", "007"}, {"e", "12e4567890123456"}, {"f", ""}});
  EXPECT_EQ(rows.rows[0], (std::vector<SqlValue>{"integer", "real", "text", "text", "text", "text"}));
  EXPECT_EQ(
      query("SELECT id FROM runs WHERE method = :m AND seed = :s", {{"m", "dual"}, {"s", "42"}}).rows.size(),
      1U);
}

TEST_F(Queries, ParameterIsNeverReadAsSql) {
  EXPECT_EQ(query("SELECT :x", {{"x", "1; DROP TABLE runs --"}}).rows[0][0],
            SqlValue("1; DROP TABLE runs --"));
}

TEST_F(Queries, ParametersMustMatchTheQuery) {
  EXPECT_EQ(refusal("SELECT :metric").problem(), "parameter :metric has no value");
  EXPECT_EQ(refusal("SELECT :metric").hint(), "add -p metric VALUE");
  const auto unknown = refusal("SELECT :metric", {{"metrik", "cer"}});
  EXPECT_EQ(unknown.problem(), "there is no parameter :metrik");
  EXPECT_EQ(unknown.hint(), "did you mean \"metric\"?");
  EXPECT_EQ(refusal("SELECT ?", {}).problem(), "has a parameter without a name");
  EXPECT_EQ(refusal("SELECT :a", {{"a", "1"}, {"a", "2"}}).problem(), "parameter :a is given twice");
}

TEST_F(Queries, MisspeltNamesGetTheNearestOne) {
  EXPECT_EQ(refusal("SELECT * FROM v_result").hint(), "did you mean \"v_results\"?");
  EXPECT_EQ(refusal("SELECT metod FROM v_results").problem(), "no such column: metod");
  EXPECT_NE(refusal("SELECT metod FROM v_results").hint().find("did you mean \"method\"?"),
            std::string::npos);
  EXPECT_NE(refusal("SELECT r.metod FROM runs AS r").hint().find("did you mean \"method\"?"),
            std::string::npos);
  EXPECT_EQ(refusal("SELECT cuont(*) FROM runs").hint(), "did you mean \"count\"?");
}

TEST_F(Queries, ErrorsSayLineAndColumn) {
  EXPECT_EQ(refusal("SELECT 1,\n  metod\nFROM runs").where(), "SQL, line 2, column 3");
  EXPECT_EQ(refusal("SELEC 1").where(), "SQL, line 1, column 1");
  EXPECT_EQ(refusal("SELECT 1 FROM").status(), Status::kUsage);
}

TEST_F(Queries, TextInDoubleQuotesIsAnErrorAndNotAText) {
  EXPECT_NE(refusal("SELECT * FROM runs WHERE method = \"dual\"").hint().find("single quotes"),
            std::string::npos);
}

TEST_F(Queries, MissingDatabaseIsNamed) {
  const auto error = error_of([&] { run_query(folder() / "none.sqlite", {.sql = "SELECT 1"}); });
  EXPECT_EQ(error.problem(), "there is no results database");
  EXPECT_EQ(error.where(), (folder() / "none.sqlite").string());
}

TEST_F(Queries, ReadsWhileAWriterIsInATransaction) {
  store().database().exec("BEGIN IMMEDIATE; DELETE FROM metrics");
  EXPECT_EQ(query("SELECT count(*) FROM metrics").rows[0][0], SqlValue(std::int64_t{4}));
  store().database().exec("ROLLBACK");
}

// --- Whatever the SQL, the file is only read ---

class HostileQueries : public Queries, public testing::WithParamInterface<const char*> {};

TEST_P(HostileQueries, AreRefusedAndLeaveEveryFile) {
  const auto hash = sha256_file(db());
  const std::string sql = fmt::format(fmt::runtime(GetParam()), fmt::arg("dir", folder().string()));
  EXPECT_THROW(query(sql), Error) << sql;
  EXPECT_EQ(sha256_file(db()), hash);
  EXPECT_FALSE(std::filesystem::exists(folder() / "out"));
}

INSTANTIATE_TEST_SUITE_P(
    Sql, HostileQueries,
    testing::Values("DELETE FROM runs", "UPDATE runs SET method = 'x'",
                    "INSERT INTO prompt_sets VALUES (9, 'a', 'b', 0, 'c')",
                    "REPLACE INTO prompt_sets VALUES (1, 'a', 'b', 0, 'c')",
                    "INSERT INTO prompt_sets VALUES (9, 'a', 'b', 0, 'c') RETURNING id",
                    "WITH x AS (SELECT 1) DELETE FROM runs",
                    "WITH x AS (SELECT 1) UPDATE runs SET method = 'x' RETURNING id",
                    "WITH x AS (SELECT 1) INSERT INTO table_runs SELECT 'a', 'r1', 's' FROM x",
                    "DROP TABLE metrics", "DROP VIEW v_results", "CREATE TABLE evil (x)",
                    "CREATE TEMP TABLE evil (x)", "CREATE VIEW evil AS SELECT 1",
                    "CREATE TEMP VIEW evil AS SELECT 1", "CREATE INDEX evil ON runs (method)",
                    "CREATE TRIGGER evil AFTER INSERT ON runs BEGIN DELETE FROM metrics; END",
                    "CREATE VIRTUAL TABLE evil USING fts5 (x)", "ALTER TABLE runs RENAME TO evil",
                    "ATTACH '{dir}/out' AS evil", "ATTACH ':memory:' AS evil", "DETACH main", "VACUUM",
                    "VACUUM INTO '{dir}/out'", "REINDEX", "ANALYZE", "BEGIN", "BEGIN EXCLUSIVE", "COMMIT",
                    "ROLLBACK", "SAVEPOINT evil", "PRAGMA user_version = 7", "PRAGMA application_id = 7",
                    "PRAGMA journal_mode = DELETE", "PRAGMA query_only = OFF", "PRAGMA writable_schema = ON",
                    "PRAGMA wal_checkpoint(TRUNCATE)", "PRAGMA hard_heap_limit = 0", "PRAGMA user_version",
                    "SELECT * FROM pragma_user_version", "SELECT load_extension('{dir}/out')",
                    "SELECT LOAD_EXTENSION('libm.so.6')", "SELECT fts3_tokenizer('simple')",
                    "SELECT 1; DELETE FROM runs", "SELECT 1; SELECT 2", "SELECT 1; PRAGMA user_version = 7",
                    "SELECT 1; ATTACH '{dir}/out' AS evil", "EXPLAIN DELETE FROM runs",
                    "SELECT 1 /* unfinished */ ; DROP TABLE runs; --", "", " ; ", "-- nothing", "delete",
                    "SELECT writefile('{dir}/out', 'x')", "SELECT readfile('/etc/passwd')",
                    "SELECT edit('x')", "SELECT zeroblob(2000000000)", "SELECT hex(zeroblob(16000000))"));

TEST_F(Queries, EndlessRecursionEndsAtTheTimeLimit) {
  const auto error = error_of([&] {
    run_query(
        db(),
        {.sql = "WITH RECURSIVE c (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c",
         .time_limit = std::chrono::milliseconds(200)});
  });
  EXPECT_EQ(error.problem(), "ran longer than 0.2 s and was stopped");
  EXPECT_EQ(error.status(), Status::kFailed);
}

TEST_F(Queries, EndlessRowsEndAtTheRowLimit) {
  const auto error = error_of([&] {
    run_query(db(),
              {.sql = "WITH RECURSIVE c (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT x FROM c",
               .max_rows = 1000});
  });
  EXPECT_EQ(error.problem(), "gives more than 1000 rows");
}

TEST_F(Queries, LargeRowsEndAtTheSizeLimit) {
  const auto error = error_of([&] {
    run_query(db(), {.sql = "WITH RECURSIVE c (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT "
                            "zeroblob(1000000) FROM c",
                     .max_bytes = std::size_t{32} << 20});
  });
  EXPECT_EQ(error.problem(), "gives more than 32 MB");
}

TEST_F(Queries, EndlessSortingEndsAtTheMemoryLimit) {
  const auto error = error_of([&] {
    run_query(
        db(),
        {.sql =
             "WITH RECURSIVE c (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT x FROM c ORDER BY -x",
         .time_limit = std::chrono::seconds(60),
         .max_bytes = std::size_t{32} << 20});
  });
  EXPECT_EQ(error.problem(), "needs more than 32 MB of memory and was stopped");
  EXPECT_EQ(query("SELECT 1").rows.size(), 1U) << "the limit ends with the query";
}

TEST_F(Queries, RowLimitIsExact) {
  const std::string three = "SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3";
  EXPECT_EQ(run_query(db(), {.sql = three, .max_rows = 3}).rows.size(), 3U);
  EXPECT_THROW(run_query(db(), {.sql = three, .max_rows = 2}), Error);
}

// --- Saved queries ---

TEST_F(Queries, EverySavedQueryRuns) {
  for (const auto& saved : saved_queries()) {
    Params params;
    for (const auto& param : saved.params) {
      if (!param.fallback) params.emplace_back(param.name, "dual");
    }
    EXPECT_NO_THROW(query(std::string(saved.name), params)) << saved.name;
    EXPECT_FALSE(saved.summary.empty());
  }
}

TEST_F(Queries, SavedQueryGivesItsRows) {
  EXPECT_EQ(query("checkpoints").rows.size(), 1U);
  EXPECT_EQ(query(" checkpoints\n", {{"split", "test"}}).rows.size(), 0U);
  const auto failures = query("failures");
  ASSERT_EQ(failures.rows.size(), 1U);
  EXPECT_EQ(failures.rows[0][5], SqlValue("timeout"));
  const auto hardest = query("hardest", {{"split", "validation"}, {"n", "1"}});
  ASSERT_EQ(hardest.rows.size(), 1U);
  EXPECT_EQ(hardest.rows[0][2], SqlValue("W0"));
}

TEST_F(Queries, SavedQuerySaysWhichValueItNeeds) {
  const auto error = refusal("differences", {{"method", "dual"}});
  EXPECT_EQ(error.where(), "query differences");
  EXPECT_EQ(error.hint(), "add -p baseline VALUE");
}

TEST_F(Queries, UnknownSavedQueryGetsTheNearestName) {
  EXPECT_EQ(refusal("checkpoint").hint(), "did you mean \"checkpoints\"?");
}

// --- Formats ---

constexpr const char* kMixed =
    "SELECT 'a|b' AS name, 1 AS n, 1.0 / 3 AS x, NULL AS gap UNION ALL SELECT 'é \"q\", 50% & _x_', 22, 2.0, "
    "''";

TEST_F(Queries, TableAlignsByDisplayWidth) {
  EXPECT_EQ(text("SELECT 'é' AS a, 1 AS n, '漢字' AS b, 'x' AS c UNION ALL SELECT 'abc', 22, 'd', 'y'",
                 QueryFormat::kTable),
            "a     n  b     c\n"
            "---  --  ----  -\n"
            "é     1  漢字  x\n"
            "abc  22  d     y\n");
}

TEST_F(Queries, TableShowsControlCharactersHarmlessly) {
  EXPECT_EQ(text("SELECT 'a' || char(10) || char(27) || '[2J' AS t", QueryFormat::kTable),
            "t\n----------\na\\n\\x1b[2J\n");
}

TEST_F(Queries, CsvQuotesAndTellsEmptyTextFromNull) {
  EXPECT_EQ(text(kMixed, QueryFormat::kCsv),
            "name,n,x,gap\n"
            "a|b,1,0.3333333333333333,\n"
            "\"é \"\"q\"\", 50% & _x_\",22,2,\"\"\n");
}

TEST_F(Queries, JsonIsAnArrayOfObjectsInColumnOrder) {
  const auto json = text(kMixed, QueryFormat::kJson);
  EXPECT_EQ(json,
            "[\n {\"name\":\"a|b\",\"n\":1,\"x\":0.3333333333333333,\"gap\":null},\n"
            " {\"name\":\"é \\\"q\\\", 50% & _x_\",\"n\":22,\"x\":2.0,\"gap\":\"\"}\n]\n");
  EXPECT_EQ(parse_json(json, "json").size(), 2U);
  EXPECT_EQ(text("SELECT 1 AS a WHERE 0", QueryFormat::kJson), "[]\n");
}

TEST_F(Queries, JsonLinesHoldOneObjectEach) {
  EXPECT_EQ(text("SELECT 1 AS a UNION ALL SELECT x'00ff'", QueryFormat::kJsonl),
            "{\"a\":1}\n{\"a\":\"00ff\"}\n");
  EXPECT_EQ(text("SELECT 1 AS a WHERE 0", QueryFormat::kJsonl), "");
}

TEST_F(Queries, JsonRefusesWhatItCannotSay) {
  EXPECT_EQ(error_of([&] { text("SELECT 1 AS a, 2 AS a", QueryFormat::kJson); }).problem(),
            "two columns are named \"a\"");
  EXPECT_EQ(error_of([&] { text("SELECT 9e999 AS a", QueryFormat::kJson); }).where(), "column \"a\", row 1");
  EXPECT_THROW(text("SELECT CAST(x'ff' AS TEXT) AS a", QueryFormat::kJsonl), Error);
  EXPECT_EQ(text("SELECT 1 AS a, 2 AS a", QueryFormat::kCsv), "a,a\n1,2\n");
}

TEST_F(Queries, MarkdownEscapesItsMarkup) {
  EXPECT_EQ(text(kMixed, QueryFormat::kMarkdown),
            "| name                   |   n |        x | gap |\n"
            "| ---------------------- | --: | -------: | --- |\n"
            "| a\\|b                   |   1 | 0.333333 |     |\n"
            "| é \"q\", 50% &amp; \\_x\\_ |  22 |        2 |     |\n");
  EXPECT_NE(text("SELECT 1 AS ocr_reward", QueryFormat::kMarkdown).find("ocr_reward"), std::string::npos);
}

TEST_F(Queries, LatexEscapesItsCommands) {
  const auto latex = text("SELECT 'a_b & 50% \\ {x} ~^#$' AS t, 1 AS n", QueryFormat::kLatex);
  EXPECT_NE(latex.find("\\begin{tabular}{lr}"), std::string::npos);
  EXPECT_NE(
      latex.find(
          "a\\_b \\& 50\\% \\textbackslash{} \\{x\\} \\textasciitilde{}\\textasciicircum{}\\#\\$ & 1 \\\\"),
      std::string::npos)
      << latex;
}

TEST_F(Queries, NumbersReadBackTheSame) {
  for (const double number : {0.1, 1.0 / 3, 1e-300, -0.0, 123456789.123456789}) {
    const ResultSet rows{.columns = {"x"}, .rows = {{number}}};
    EXPECT_EQ(std::stod(split(rows_as_csv(rows), '\n')[1]), number);
    EXPECT_EQ(parse_json(rows_as_json(rows), "json")[0]["x"].get<double>(), number);
  }
}

TEST(QueryFormats, UnknownOneGetsTheNearestName) {
  EXPECT_EQ(query_format("md"), QueryFormat::kMarkdown);
  const auto error = error_of([] { query_format("jsn"); });
  EXPECT_EQ(error.hint(), "did you mean \"json\"?");
  EXPECT_EQ(error.where(), "--format");
}

}  // namespace
}  // namespace harness
