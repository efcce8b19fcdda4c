#include "results/query/query.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <ranges>

#include "core/text.h"
#include "results/query/format.h"
#include "results/query/saved_queries.h"
#include "results/table/markup.h"
#include "tests/results/store_fixture.h"

namespace harness {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

std::string written(const ResultSet& rows, QueryFormat format) {
  std::string text;
  write_rows(rows, format, [&](std::string_view piece) {
    text += piece;
    return true;
  });
  return text;
}

using Params = std::vector<std::pair<std::string, std::string>>;

const std::string kCounting = "WITH RECURSIVE c (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) ";

class QueryTest : public StoreTest {
 protected:
  ResultSet query(const std::string& sql, const Params& params = {}) const {
    return run_query(db(), {.sql = sql, .params = params});
  }
  Error refusal(const std::string& sql, const Params& params = {}) const {
    return error_of([&] { query(sql, params); });
  }
  std::string text(const std::string& sql, QueryFormat format) const { return written(query(sql), format); }

  /// Of SQL or a name with its parameters, as on the command line: "law -p seed 42".
  ResultSet answer(const std::string& line) const {
    std::vector<std::string> parts;
    for (const auto part : std::views::split(line, std::string_view(" -p ")))
      parts.emplace_back(part.begin(), part.end());
    Params params;
    for (const auto& part : parts | std::views::drop(1))
      params.emplace_back(part.substr(0, part.find(' ')), part.substr(part.find(' ') + 1));
    return query(parts.front(), params);
  }

  /// Lines, and how the message ends.
  void expect_mistakes(const std::vector<std::pair<std::string, std::string>>& rows) const {
    for (const auto& [line, ending] : rows) {
      const auto error = error_of([&, &line = line] { answer(line); });
      EXPECT_THAT(error.what(), EndsWith(ending)) << line;
      EXPECT_EQ(error.status(), Status::kUsage) << line;
    }
  }

  struct Column {
    std::string line, name;
    std::vector<SqlValue> values;
  };
  void expect_columns(const std::vector<Column>& columns) const {
    for (const auto& [line, name, expected] : columns) {
      const auto rows = answer(line);
      const auto at = std::ranges::find(rows.columns, name) - rows.columns.begin();
      std::vector<SqlValue> values;
      for (const auto& row : rows.rows) values.push_back(row.at(static_cast<std::size_t>(at)));
      EXPECT_EQ(values, expected) << line << ": " << name;
    }
  }

  /// A completed experiment of these runs, with their names.
  std::int64_t experiment(const std::vector<std::string>& evaluations, const Params& runs) {
    auto record = an_experiment(evaluations);
    record.runs = runs;
    return store().record_reproduction(record);
  }
};

class Queries : public QueryTest {
 protected:
  Queries() {
    store().record_run(a_run("r1", "dual"));
    store().record_checkpoint({.run_id = "r1", .step = 40, .lambda_late = 0.01});
    evaluated(an_evaluation("e1", "r1", 40), {0.25, std::nullopt, 0.5, 1});
    experiment({"e1"}, {{"r1", "dual"}});
    close();
  }
};

TEST_F(Queries, RowsKeepTheirTypes) {
  const auto rows = query("SELECT 1, 0.5, 'a', NULL, x'00ff'");
  ASSERT_EQ(rows.rows.size(), 1U);
  EXPECT_EQ(rows.rows[0], (std::vector<SqlValue>{std::int64_t{1}, 0.5, "a", std::monostate{},
                                                 Blob{std::string("\0\xff", 2)}}));
}

TEST_F(Queries, TrailingSemicolonAndCommentsAreNoSecondStatement) {
  EXPECT_EQ(query("-- first\nSELECT 1; -- done\n /* and done */ ;").rows.size(), 1U);
}

TEST_F(Queries, ParametersBindByNameAsNumbersOrText) {
  const auto rows =
      query("SELECT typeof(:a), typeof(:b), typeof(@c), typeof($d), typeof(:e), typeof(:f), typeof(:g)",
            {{"a", "42"},
             {"b", "0.5"},
             {"c", "dual"},
             {"d", "007"},
             {"e", "12e4567890123456"},
             {"f", ""},
             {"g", "1e+20"}});
  EXPECT_EQ(rows.rows[0], (std::vector<SqlValue>{"integer", "real", "text", "text", "text", "text", "real"}));
  EXPECT_EQ(
      query("SELECT id FROM runs WHERE method = :m AND seed = :s", {{"m", "dual"}, {"s", "42"}}).rows.size(),
      1U);
}

TEST_F(Queries, ParameterIsNeverReadAsSql) {
  EXPECT_EQ(query("SELECT :x", {{"x", "1; DROP TABLE runs --"}}).rows[0][0],
            SqlValue("1; DROP TABLE runs --"));
}

TEST_F(Queries, MistakesAreNamedWithTheirPlaceAndWhatToDo) {
  const std::string in_quotes = "or put a text value in single quotes";
  expect_mistakes(
      {{"SELECT :metric", "parameter :metric has no value; add -p metric VALUE"},
       {"SELECT :metric -p metrik cer", "there is no parameter :metrik; did you mean \"metric\"?"},
       {"SELECT ?", "has a parameter without a name; write :name and give -p name VALUE"},
       {"SELECT :a -p a 1 -p a 2", "parameter :a is given twice"},
       {"SELECT * FROM v_result", "; did you mean \"v_results\"?"},
       {"SELECT 1,\n  metod\nFROM runs",
        "SQL, line 2, column 3: no such column: metod; did you mean \"method\"? " + in_quotes},
       {"SELECT r.metod FROM runs AS r", "did you mean \"method\"? " + in_quotes},
       {"SELECT method FROM train_stats", ", none of which this query reads under that name"},
       {"SELECT cuont(*) FROM runs", "; did you mean \"count\"?"},
       {"SELEC 1", "SQL, line 1, column 1: near \"SELEC\": syntax error"},
       {"SELECT * FROM runs WHERE method = \"dual\"", "; put a text value in single quotes: 'dual'"},
       // Another table has a column of that name.
       {"SELECT * FROM evaluations WHERE split = \"test\"", "; put a text value in single quotes: 'test'"},
       {"SELECT \"metod\" FROM runs",
        "; put a text value in single quotes: 'metod'; or did you mean the column \"method\"?"}});
  EXPECT_THAT(refusal("SELECT method FROM train_stats").hint(), StartsWith("method is a column of "));
}

TEST_F(Queries, ReadsWhileAWriterIsInATransaction) {
  store().database().exec("BEGIN IMMEDIATE; DELETE FROM metrics");
  EXPECT_EQ(query("SELECT count(*) FROM metrics").rows[0][0], SqlValue(std::int64_t{4}));
  store().database().exec("ROLLBACK");
}

constexpr const char* kHostile[] = {
    "DELETE FROM runs", "UPDATE runs SET method = 'x'",
    "INSERT INTO prompt_sets VALUES (9, 'a', 'b', 0, 'c')",
    "REPLACE INTO prompt_sets VALUES (1, 'a', 'b', 0, 'c')",
    "INSERT INTO prompt_sets VALUES (9, 'a', 'b', 0, 'c') RETURNING id",
    "WITH x AS (SELECT 1) DELETE FROM runs", "WITH x AS (SELECT 1) UPDATE runs SET method = 'x' RETURNING id",
    "WITH x AS (SELECT 1) INSERT INTO table_runs SELECT 'a', 'r1', 's' FROM x", "DROP TABLE metrics",
    "DROP VIEW v_results", "CREATE TABLE evil (x)", "CREATE TEMP TABLE evil (x)",
    "CREATE VIEW evil AS SELECT 1", "CREATE TEMP VIEW evil AS SELECT 1", "CREATE INDEX evil ON runs (method)",
    "CREATE TRIGGER evil AFTER INSERT ON runs BEGIN DELETE FROM metrics; END",
    "CREATE VIRTUAL TABLE evil USING fts5 (x)", "ALTER TABLE runs RENAME TO evil",
    "ATTACH '{dir}/out' AS evil", "ATTACH ':memory:' AS evil", "DETACH main", "VACUUM",
    "VACUUM INTO '{dir}/out'", "REINDEX", "ANALYZE", "BEGIN", "BEGIN EXCLUSIVE", "COMMIT", "ROLLBACK",
    "SAVEPOINT evil", "PRAGMA user_version = 7", "PRAGMA application_id = 7", "PRAGMA journal_mode = DELETE",
    "PRAGMA query_only = OFF", "PRAGMA writable_schema = ON", "PRAGMA wal_checkpoint(TRUNCATE)",
    "PRAGMA hard_heap_limit = 0", "PRAGMA user_version", "SELECT * FROM pragma_user_version",
    "SELECT load_extension('{dir}/out')", "SELECT LOAD_EXTENSION('libm.so.6')",
    "SELECT fts3_tokenizer('simple')", "SELECT 1; DELETE FROM runs", "SELECT 1; SELECT 2",
    "SELECT 1; PRAGMA user_version = 7", "SELECT 1; ATTACH '{dir}/out' AS evil", "EXPLAIN DELETE FROM runs",
    "SELECT 1 /* unfinished */ ; DROP TABLE runs; --", "", " ; ", "-- nothing", "delete",
    "SELECT writefile('{dir}/out', 'x')", "SELECT readfile('/etc/passwd')", "SELECT edit('x')",
    "SELECT zeroblob(2000000000)", "SELECT hex(zeroblob(16000000))",
    // Writes in other clothes.
    "WITH RECURSIVE c (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c LIMIT 9) DELETE FROM metrics WHERE "
    "prompt_id IN (SELECT x FROM c)",
    "WITH x AS (INSERT INTO runs DEFAULT VALUES RETURNING id) SELECT * FROM x",
    "SELECT * FROM (DELETE FROM runs RETURNING id)", "UPDATE OR REPLACE runs SET id = id",
    "INSERT INTO metrics SELECT * FROM metrics ON CONFLICT DO UPDATE SET value = 1",
    "DELETE FROM sqlite_master", "UPDATE sqlite_schema SET sql = ''",
    "INSERT INTO sqlite_master VALUES ('table', 'x', 'x', 0, '')", "DELETE FROM sqlite_sequence",
    "DELETE FROM sqlite_stat1", "/* read */ DELETE /* only */ FROM runs", "-- read\nDROP TABLE runs",
    "\xEF\xBB\xBF DELETE FROM runs", "EXPLAIN QUERY PLAN DELETE FROM runs",
    "ALTER TABLE metrics DROP COLUMN value", "ALTER TABLE metrics ADD COLUMN evil",
    "CREATE TABLE evil AS SELECT * FROM metrics", "CREATE UNIQUE INDEX evil ON metrics (value)",
    "CREATE TEMP TRIGGER evil BEFORE DELETE ON runs BEGIN SELECT 1; END",
    "CREATE VIRTUAL TABLE evil USING rtree (a, b, c)", "CREATE VIRTUAL TABLE evil USING csv ('/etc/passwd')",
    "CREATE TEMP TABLE evil AS SELECT 1", "SELECT 1 INTO OUTFILE '{dir}/out'",
    // Other files.
    "ATTACH DATABASE 'file:{dir}/out?mode=rwc' AS evil", "ATTACH '{dir}/results.sqlite' AS again",
    "VACUUM main INTO '{dir}/out'", "DETACH DATABASE temp", "SELECT * FROM fsdir('/etc')",
    "SELECT * FROM csv('/etc/passwd')", "SELECT * FROM completion('SEL')", "SELECT * FROM sqlite_dbpage",
    "SELECT * FROM dbstat", "SELECT * FROM sqlite_stmt", "SELECT * FROM bytecode('SELECT 1')",
    "SELECT * FROM zipfile('{dir}/results.sqlite')", "SELECT * FROM generate_series(1, 1e18)",
    "SELECT load_extension('{dir}/out', 'entry')", "SELECT \"load_extension\"('{dir}/out')",
    "SELECT shell('touch {dir}/out')", "SELECT writefile('{dir}/out', x'00') FROM runs",
    // Settings.
    "PRAGMA temp_store_directory = '{dir}'", "PRAGMA mmap_size = 0", "PRAGMA trusted_schema = ON",
    "PRAGMA defer_foreign_keys = ON", "PRAGMA foreign_keys = OFF", "PRAGMA locking_mode = EXCLUSIVE",
    "PRAGMA secure_delete = ON", "PRAGMA incremental_vacuum", "PRAGMA optimize", "PRAGMA shrink_memory",
    "PRAGMA main.writable_schema = 1", "PRAGMA table_info(runs)", "PRAGMA threads = 64",
    "SELECT * FROM pragma_database_list", "SELECT * FROM pragma_table_info('runs')",
    "SELECT * FROM pragma_writable_schema", "SELECT * FROM pragma_journal_mode",
    // Several statements.
    "SELECT 1;;DELETE FROM runs", "SELECT 1; -- \nDELETE FROM runs", "SELECT 1;\nCOMMIT",
    "SELECT 1; SAVEPOINT a; DELETE FROM runs; RELEASE a", "BEGIN; SELECT 1", "END", "RELEASE evil",
    "SELECT ';' ; DROP TABLE runs", "SELECT 1; EXPLAIN SELECT 2", "VALUES (1); VALUES (2)",
    // Too much of something.
    "SELECT randomblob(2000000000)", "SELECT replace(hex(zeroblob(8000000)), '0', 'xxxxxxxx')",
    "SELECT json_array(zeroblob(3))", "SELECT abs(-9223372036854775808)",
    "SELECT sum(9223372036854775807) FROM metrics", "SELECT json_extract('[', '$')",
    "SELECT 'a' LIKE 'b' ESCAPE 'cd'", "SELECT * FROM runs, no_such_table", "SELECT ?1", "SELECT :a, @a, $a",
    "SELECT", "'; DROP TABLE runs; --", "SELECT 'unfinished", "SELECT \"unfinished", "SELECT x'0",
    "SELECT ((((", "SELECT 1 FROM runs WHERE"};

TEST_F(Queries, HostileOnesAreRefusedAndLeaveEveryFile) {
  const auto hash = sha256_file(db());
  for (const auto* statement : kHostile) {
    const auto sql = fmt::format(fmt::runtime(statement), fmt::arg("dir", folder().string()));
    EXPECT_THROW(query(sql), Error) << sql;
    EXPECT_EQ(sha256_file(db()), hash) << sql;
    EXPECT_FALSE(std::filesystem::exists(folder() / "out")) << sql;
  }
}

TEST_F(Queries, BoundedFunctionsAnswerAsSqlitesOwn) {
  const auto rows = query(
      "SELECT instr('abcabc', 'c'), instr(x'0102', x'02'), instr(NULL, 'a'), trim('xxaxx', 'x'), "
      "ltrim('xxa', 'x'), rtrim('axx', 'x'), replace('aXbX', 'X', '--'), 'OPEN' LIKE 'o%', "
      "'a%' LIKE 'a!%' ESCAPE '!', 'open' GLOB 'o*', "
      "json_array(json_patch('{\"a\":1}', '{\"b\":2}')), instr(12345, 34), trim(' a '), "
      "printf('%05d|%-4s|%*d|%.2f|%,d', 42, 'ab', 4, 7, 0.126, 1234567), format('%s'), printf('%d%%', 5)");
  const auto n = [](std::int64_t value) { return SqlValue(value); };
  EXPECT_EQ(rows.rows[0], (std::vector<SqlValue>{n(3), n(2), std::monostate{}, "a", "a", "a", "a--b--", n(1),
                                                 n(1), n(1), "[{\"a\":1,\"b\":2}]", n(3), "a",
                                                 "00042|ab  |   7|0.13|1,234,567", "", "5%"}));
  EXPECT_EQ(refusal("SELECT instr(zeroblob(15000000), zeroblob(7000000))").problem(),
            "the arguments of instr are too long");
  EXPECT_EQ(query("SELECT printf('%*d|%s', 5, 7, 'x'), format('%.2f', 1.25), printf('%d', 20000000)").rows[0],
            (std::vector<SqlValue>{"    7|x", "1.25", "20000000"}));
  EXPECT_EQ(refusal("SELECT printf('%.*c', 2000000000, 'x')").problem(),
            "the arguments of printf are too long");
}

std::string repeated(const std::string& text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}

// With an Error or with rows; in the time limit and a moment, with the file as it was.
TEST_F(Queries, EndlessOnesEndWithinTheLimits) {
  const auto& count = kCounting;
  const std::vector<std::pair<const char*, std::string>> queries = {
      {"recursion", count + "SELECT count(*) FROM c"},
      {"recursion without new rows",
       "WITH RECURSIVE c (x) AS (SELECT 1 UNION ALL SELECT x FROM c) SELECT count(*) FROM c"},
      {"sorted recursion", count + "SELECT x FROM c ORDER BY x DESC LIMIT 1"},
      {"group_concat", count + "SELECT group_concat(x) FROM c"},
      {"group_concat of blobs", count + "SELECT group_concat(zeroblob(100000)) FROM c"},
      {"json_group_array", count + "SELECT json_group_array(x) FROM c"},
      {"window", count + "SELECT sum(x) OVER (ORDER BY x) FROM c"},
      {"distinct", count + "SELECT count(DISTINCT x) FROM c"},
      {"union", count + "SELECT x FROM c UNION SELECT -x FROM c"},
      {"doubling text",
       "WITH RECURSIVE c (t) AS (SELECT 'xy' UNION ALL SELECT t || t FROM c) SELECT max(length(t)) FROM c"},
      {"doubling blob",
       "WITH RECURSIVE c (t) AS (SELECT x'00' UNION ALL SELECT CAST(t || t AS BLOB) FROM c) SELECT t FROM c"},
      {"cross join", "SELECT count(*) FROM " + repeated("prompts, ", 30) + "prompts"},
      {"cross join of numbers",
       "WITH RECURSIVE n (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n LIMIT 100000) SELECT "
       "count(*) FROM n AS a, n AS b, n AS c"},
      {"like", "SELECT '" + repeated("a", 900'000) + "' LIKE '" + repeated("%a", 400) + "b'"},
      {"glob", "SELECT '" + repeated("a", 900'000) + "' GLOB '" + repeated("*a", 400) + "b'"},
      {"like over rows",
       count + "SELECT count(*) FROM c WHERE printf('%.9999c', 'a') LIKE '" + repeated("%a", 400) + "b'"},
      {"regexp", "SELECT 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa' REGEXP '(a+)+b'"},
      {"replace", "SELECT length(replace(replace('" + repeated("a", 4000) + "', 'a', '" +
                      repeated("a", 3000) + "'), 'a', '" + repeated("b", 3000) + "'))"},
      {"printf", count + "SELECT printf('%.15000000c', 'x') FROM c"},
      {"padding by arguments",
       count + "SELECT format('%.*c%*c%.*c', 9000000, 'x', x, 'y', 8000000, 'z') FROM c"},
      {"many paddings", "SELECT printf('" + repeated("%.15000000c", 80'000) + "', 'x')"},
      {"padding", "SELECT printf('%2000000000d', 1), format('%*s', 2000000000, 'x')"},
      {"printf of a number", "SELECT printf('%.15000000f', 1.0)"},
      {"printf of commas", "SELECT length(printf('%,.1000000f', 1e300))"},
      {"hex of a blob", count + "SELECT hex(zeroblob(7000000)) FROM c"},
      {"quote of a blob", count + "SELECT quote(zeroblob(7000000)) FROM c"},
      {"random blobs", count + "SELECT max(randomblob(1000000)) FROM c"},
      {"instr", "SELECT instr(zeroblob(15000000), CAST(zeroblob(7000000) || x'01' AS BLOB))"},
      {"short needles", count + "SELECT sum(instr(zeroblob(20000), zeroblob(4000) || x)) FROM c"},
      {"replace of a long text",
       "SELECT replace(printf('%.15000000c', 'a'), printf('%.7000000c', 'a') || 'b', '')"},
      {"long comparisons",
       count + "SELECT count(*) FROM c AS a WHERE zeroblob(15000000) = zeroblob(15000000)"},
      {"JSON objects of many keys",
       "WITH RECURSIVE n (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n LIMIT 200000), o AS (SELECT "
       "json_group_object('k' || x, x) AS j FROM n) SELECT json_patch(j, replace(j, 'k', 'l')) FROM o"},
      {"trim", "SELECT length(trim(printf('%.900000c', 'a'), printf('%.900000c', 'b')))"},
      {"deep brackets", "SELECT " + repeated("(", 5000) + "1" + repeated(")", 5000)},
      {"deep negation", "SELECT " + repeated("NOT ", 50'000) + "1"},
      {"deep minus", "SELECT " + repeated("- ", 100'000) + "1"},
      {"long sum", "SELECT 1" + repeated(" + 1", 100'000)},
      {"deep subqueries", repeated("SELECT (", 500) + "SELECT 1" + repeated(")", 500)},
      {"deep FROM", repeated("SELECT * FROM (", 300) + "SELECT 1" + repeated(")", 300)},
      {"deep CASE", "SELECT " + repeated("CASE WHEN 1 THEN ", 1000) + "1" + repeated(" END", 1000)},
      {"deep functions", "SELECT " + repeated("abs(", 2000) + "1" + repeated(")", 2000)},
      {"many columns", "SELECT 1" + repeated(", 1", 5000)},
      {"many arguments", "SELECT max(1" + repeated(", 1", 5000) + ")"},
      {"many unions", "SELECT 1" + repeated(" UNION ALL SELECT 1", 2000)},
      {"many values", "VALUES (1)" + repeated(", (1)", 50'000)},
      {"many tables", "SELECT * FROM runs" + repeated(", runs", 100)},
      {"many tables of expressions",
       "WITH a AS (SELECT 1)" + repeated(", b AS (SELECT 1)", 300) + " SELECT 1"},
      {"exponential views",
       [] {
         std::string sql = "WITH v0 AS (SELECT 1 AS x)";
         for (int i = 1; i < 40; ++i)
           sql += fmt::format(", v{0} AS (SELECT a.x FROM v{1} AS a JOIN v{1} AS b)", i, i - 1);
         return sql + " SELECT count(*) FROM v39";
       }()},
      {"long text", "SELECT '" + repeated("x", 2'000'000) + "'"},
      {"long comment", "SELECT 1 /* " + repeated("x", 2'000'000) + " */"},
      {"long name", "SELECT 1 AS \"" + repeated("x", 900'000) + "\""},
      {"zero byte", std::string("SELECT 1\0; DELETE FROM runs", 28)},
      {"zero byte in a text", std::string("SELECT 'a\0b'", 12)},
      {"not UTF-8", "SELECT '\xff\xfe'"},
      {"deep JSON", "SELECT json_extract('" + repeated("[", 100'000) + repeated("]", 100'000) + "', '$')"},
      {"wide JSON", count + "SELECT count(*) FROM c, json_each('[1,2,3]')"},
      {"tree of JSON", "SELECT count(*) FROM json_tree('[" + repeated("[1],", 100'000) + "0]')"},
      {"JSON patch",
       "SELECT json_patch('" + repeated("{\"a\":", 5000) + "1" + repeated("}", 5000) + "', '{}')"},
      {"date", count + "SELECT count(strftime('%Y', x, '+1 day', 'localtime')) FROM c"},
      {"text search", "SELECT count(*) FROM fts5vocab('main', 'runs', 'row')"},
      {"nth row", "SELECT * FROM runs LIMIT -1 OFFSET 9223372036854775807"},
      {"correlated", "SELECT count(*) FROM metrics AS a WHERE (" + count + "SELECT max(x) FROM c) > 0"},
      {"zero limit", count + "SELECT x FROM c LIMIT 0"},
  };
  const auto hash = sha256_file(db());
  for (const auto& [name, sql] : queries) {
    const auto begin = std::clock();  // processor time, as the limit
    try {
      run_query(db(), {.sql = sql,
                       .time_limit = std::chrono::milliseconds(300),
                       .max_rows = 10'000,
                       .max_bytes = std::size_t{64} << 20});
    } catch (const Error& error) {
      EXPECT_FALSE(error.problem().empty()) << name;
    }
    EXPECT_LT((std::clock() - begin) / CLOCKS_PER_SEC, 5) << name;
    EXPECT_EQ(sha256_file(db()), hash) << name;
  }
}

TEST_F(Queries, JsonInColumnsCanBeTakenApartAsTables) {
  EXPECT_EQ(text("SELECT value FROM json_each('[7, 8]')", QueryFormat::kCsv), "value\n7\n8\n");
  EXPECT_EQ(text("SELECT fullkey FROM json_tree('{\"a\": [1]}') WHERE atom = 1", QueryFormat::kCsv),
            "fullkey\n$.a[0]\n");
}

TEST_F(Queries, TheLimitThatEndsAQueryIsNamed) {
  using std::chrono::milliseconds;
  constexpr std::size_t kBytes = std::size_t{32} << 20;
  const auto out_of_memory = "needs more than 32 MB of memory and was stopped";
  const std::vector<std::pair<QueryRequest, std::string>> rows = {
      {{.sql = kCounting + "SELECT count(*) FROM c", .time_limit = milliseconds(200)},
       "ran longer than 0.2 s and was stopped"},
      {{.sql = kCounting + "SELECT x FROM c", .max_rows = 1000}, "gives more than 1000 rows"},
      {{.sql = kCounting + "SELECT zeroblob(1000000) FROM c", .max_bytes = kBytes}, out_of_memory},
      {{.sql = kCounting + "SELECT x FROM c ORDER BY -x",
        .time_limit = milliseconds(60'000),
        .max_bytes = kBytes},
       out_of_memory}};
  for (const auto& [request, problem] : rows) {
    const auto error = error_of([&, &request = request] { run_query(db(), request); });
    EXPECT_EQ(error.problem(), problem) << request.sql;
    EXPECT_EQ(error.status(), Status::kFailed) << request.sql;
    EXPECT_EQ(query("SELECT 1").rows.size(), 1U) << "the limit ends with the query";
  }
}

TEST_F(Queries, RowLimitIsExact) {
  const std::string three = "SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3";
  EXPECT_EQ(run_query(db(), {.sql = three, .max_rows = 3}).rows.size(), 3U);
  EXPECT_THROW(run_query(db(), {.sql = three, .max_rows = 2}), Error);
}

TEST_F(Queries, EverySavedQueryRuns) {
  for (const auto& saved : saved_queries()) {
    Params params;
    for (const auto& param : saved.params) {
      if (!param.fallback) params.emplace_back(param.name, "dual");
    }
    EXPECT_EQ(query(std::string(saved.name), params).experiment.empty(), !saved.of_one_experiment)
        << saved.name;
    EXPECT_FALSE(saved.summary.empty());
  }
}

TEST_F(Queries, SavedOnesGiveTheirRows) {
  expect_columns({{"checkpoints", "method", {"dual"}},
                  {" checkpoints\n -p experiment 1 -p split validation", "method", {"dual"}},
                  {"failures", "reason", {"timeout"}},
                  {"hardest -p n 1", "target", {"W0"}}});
}

TEST_F(Queries, SavedOnesNameWhatThereIs) {
  expect_mistakes(
      {{"checkpoint", "query: there is no saved query \"checkpoint\"; did you mean \"checkpoints\"?"},
       {"differences -p method dual",
        "query differences: needs a value for baseline (a method, or base); add -p baseline VALUE"},
       {"by-prompt -p baselin dual",
        "there is no parameter \"baselin\"; did you mean \"baseline\"? there are: baseline, method, "
        "metric, split, order, n, experiment, table"},
       {"law -p seed 1 -p seed 2", "parameter \"seed\" is given twice"},
       {"training -p method daul",
        "query training, -p method: unknown method \"daul\"; did you mean \"dual\"? there are: base, dual"},
       {"checkpoints -p metric nope",
        "query checkpoints, -p metric: unknown metric \"nope\"; there are: ocr_reward"},
       {"checkpoints -p split test",
        "query checkpoints, -p split: unknown split \"test\"; there are: validation"},
       {"checkpoints -p table u",
        "query checkpoints, -p table: unknown table \"u\"; did you mean \"t\"? there are: t"},
       {"alarms -p experiment 7",
        "query alarms, -p experiment: unknown experiment \"7\"; did you mean \"1\"? there are: 1"},
       {"law -p seed 7", "query law, -p seed: unknown seed \"7\"; there are: 42"},
       {"spend -p metric ocr_rewrd",
        "query spend, -p metric: experiment 1 has no metric \"ocr_rewrd\"; did you mean "
        "\"ocr_reward\"? there are: ocr_reward"},
       {"hardest -p split tset",
        "query hardest, -p split: experiment 1 was not evaluated on a split \"tset\"; there are: validation"},
       {"hardest -p n abc", "query hardest, -p n: n must be a whole number, not \"abc\"; how many prompts"},
       {"hardest -p n -1", "query hardest, -p n: n must be a whole number, not \"-1\"; how many prompts"},
       {"law -p fresh 2", "fresh cannot be \"2\"; did you mean \"0\"? there are: 0, 1"},
       {"by-prompt -p baseline base -p method dual -p order gain",
        "order cannot be \"gain\"; did you mean \"gains\"? there are: gains, losses"},
       {"by-prompt -p baseline base -p method dual",
        "no completed experiment has baseline base, method dual; there are: 1: t smoke (dual)"}});
}

TEST_F(Queries, AnAnswerWithoutRowsSaysWhatWasLookedFor) {
  EXPECT_EQ(query("alarms").nothing, "no alarm is stored");
  EXPECT_EQ(query("alarms", {{"experiment", "1"}}).nothing, "no alarm is stored for experiment 1");
  EXPECT_EQ(query("selections", {{"method", "dual"}}).nothing, "no rows for method dual");
  EXPECT_EQ(query("SELECT 1 WHERE 0").nothing, "no rows");
}

/// Two runs whose selected checkpoints have these values on the test split.
class PairedQueries : public QueryTest {
 protected:
  PairedQueries() {
    add("r1", "ratio-norm", {0.5, 0.5, 1, 0.25});
    add("r2", "dual", {0.75, 0.25, std::nullopt, 0.5});
    log(train_job("r2"),
        {started("r2"), update_event(1, true, {{"reward_mean", 0.25}}, {{"lambda_center", {0, 0}}}),
         update_event(2, false, {{"reward_mean", 0.75}},
                      {{"lambda_center", {0.5, 0.25}}, {"log_ratio_mean", {-0.25, -0.125}}})});
    store().ingest(train_job("r2"));
    both();
    close();
  }

  std::int64_t both() { return experiment({"er1", "er2"}, {{"r1", "ratio-norm"}, {"r2", "dual"}}); }

 private:
  void add(const std::string& run, const std::string& method,
           const std::vector<std::optional<double>>& rewards) {
    auto record = a_run(run, method);
    if (method == "dual") record.effective_settings = {{"method_settings", {{"tau", 0.01}}}};
    record.config["settings"]["prompts_per_epoch"] = record.config["settings"]["group_size"] = 8;
    record.config["settings"]["updates_per_epoch"] = 2;
    store().record_run(record);
    store().record_checkpoint({.run_id = run, .step = 2, .lambda_late = 0.02});
    tested("e" + run, run, 2, rewards);
  }
};

TEST_F(PairedQueries, SavedOnesTakeTheirParameters) {
  const std::string pair = " -p baseline ratio-norm -p method dual";
  expect_columns({{"by-prompt" + pair, "target", {"W0", "W3", "W1", "W2"}},
                  {"by-prompt" + pair, "delta", {0.25, 0.25, -0.25, std::monostate{}}},
                  {"by-prompt" + pair + " -p order losses -p n 1", "target", {"W1"}},
                  {"differences" + pair, "method_transcript", {"OPEN", "OPEN", "OPEN", "OPEN"}},
                  {"easiest -p n 2", "target", {"W2", "W0"}},
                  {"hardest -p n 2", "target", {"W1", "W3"}},
                  {"spend -p split test -p method dual", "mean", {0.5}},
                  {"spend -p split test -p method dual", "lambda_late_over_tau", {2.0}},
                  {"spend -p split test -p method dual", "training_reward", {0.5}},
                  {"spend -p split test -p method dual", "metric", {"ocr_reward"}},
                  // A method without a budget is held against that of the others.
                  {"spend -p split test -p method ratio-norm", "lambda_late_over_tau", {2.0}},
                  {"law", "predicted_mean", {-0.25, -0.125}},
                  {"law -p seed 42 -p fresh 1 -p method dual", "predicted_mean", {-0.25, -0.125}},
                  {"law -p fresh 0", "predicted_mean", {}},
                  {"failures -p method dual -p split test", "reason", {"timeout"}},
                  {"failures -p method ratio-norm", "reason", {}},
                  {"selections -p method dual", "method", {"dual"}},
                  {"selections", "method", {"ratio-norm", "dual"}},
                  {"training -p method dual", "reward_mean", {0.25, 0.75}}});
}

TEST_F(PairedQueries, RunsHaveTheNameOfTheirRowUnlessTablesDisagree) {
  const auto run = [this](const char* sql) {
    store().database().exec(sql);
    close();
  };
  run("UPDATE table_runs SET arm = 'dual lr 1' WHERE run_id = 'r2'");
  for (const std::string name : {"dual", "dual lr 1"}) {
    expect_columns({{"training -p method " + name, "method", {"dual lr 1", "dual lr 1"}},
                    {"law -p method " + name, "method", {"dual lr 1", "dual lr 1"}},
                    {"selections -p method " + name, "method", {"dual lr 1"}},
                    {"failures -p method " + name, "method", {"dual lr 1"}}});
  }
  run("UPDATE table_runs SET arm = '1' WHERE run_id = 'r2'");
  expect_columns(
      {{"training -p method 1", "method", {"1", "1"}}, {"selections -p method 1", "method", {"1"}}});
  run("INSERT INTO table_runs (table_id, run_id, scale, arm) VALUES ('other', 'r2', 'smoke', '')");
  expect_columns({{"training -p method dual", "method", {"dual", "dual"}}});
}

TEST_F(PairedQueries, ComparisonsAreThoseOfTheExperiment) {
  const ComparisonRow record{{"test", "ocr_reward", "ratio-norm", "dual"}, {}};
  store().record_comparisons(both(), {&record, 1});
  close();
  for (const char* params : {"", " -p experiment 1 -p metric ocr_reward", " -p split test"})
    expect_columns({{std::string("comparisons") + params, "method", {"dual"}}});
}

constexpr const char* kMixedText =
    "SELECT 'a|b' AS name, 1 AS n, 1.0 / 3 AS x, NULL AS gap UNION ALL SELECT 'é \"q\", 50% & _x_', 22, 2.0, "
    "''";

TEST_F(Queries, AreWrittenInEveryFormat) {
  struct Row {
    QueryFormat format;
    std::string sql, text;
  };
  const std::string none = "SELECT 1 AS a WHERE 0";
  const std::vector<Row> rows = {
      // By display width, and control characters harmlessly.
      {QueryFormat::kTable,
       "SELECT 'é' AS a, 1 AS n, '漢字' AS b, 'x' AS c UNION ALL SELECT 'abc', 22, 'd', 'y'",
       "a     n  b     c\n"
       "---  --  ----  -\n"
       "é     1  漢字  x\n"
       "abc  22  d     y\n"},
      {QueryFormat::kTable, "SELECT 'a' || char(10) || char(27) || '[2J' AS t",
       "t\n------------\na\\n\\u001b[2J\n"},
      // Empty text is told from NULL.
      {QueryFormat::kCsv, kMixedText,
       "name,n,x,gap\n"
       "a|b,1,0.3333333333333333,\n"
       "\"é \"\"q\"\", 50% & _x_\",22,2,\"\"\n"},
      {QueryFormat::kCsv, "SELECT 1 AS a, 2 AS a", "a,a\n1,2\n"},
      {QueryFormat::kJson, kMixedText,
       "[\n {\"name\":\"a|b\",\"n\":1,\"x\":0.3333333333333333,\"gap\":null},\n"
       " {\"name\":\"é \\\"q\\\", 50% & _x_\",\"n\":22,\"x\":2.0,\"gap\":\"\"}\n]\n"},
      {QueryFormat::kJson, none, "[]\n"},
      {QueryFormat::kJsonl, "SELECT 1 AS a UNION ALL SELECT x'00ff'", "{\"a\":1}\n{\"a\":\"00ff\"}\n"},
      {QueryFormat::kJsonl, none, ""},
      {QueryFormat::kMarkdown, kMixedText,
       "| name               |   n |        x | gap |\n"
       "| ------------------ | --: | -------: | --- |\n"
       "| a\\|b               |   1 | 0.333333 |     |\n"
       "| é \"q\", 50% & \\_x\\_ |  22 |        2 |     |\n"}};
  for (const auto& [format, sql, expected] : rows) EXPECT_EQ(text(sql, format), expected) << sql;
  EXPECT_THAT(text("SELECT 1 AS ocr_reward", QueryFormat::kMarkdown), HasSubstr("ocr_reward"));
}

TEST_F(Queries, NoFormatForReadersLetsControlsThrough) {
  const std::string sql =
      "SELECT char(155) || '31m' || char(0x202e) || char(27) || CAST(x'ff' AS TEXT) AS \"h\u009b\"";
  EXPECT_EQ(text(sql, QueryFormat::kTable),
            fmt::format("h\\u009b\n{:->25}\n\\u009b31m\\u202e\\u001b\\xff\n", ""));
  EXPECT_THAT(text(sql, QueryFormat::kMarkdown), HasSubstr("\\\\u009b31m\\\\u202e\\\\u001b\\\\xff"));
  EXPECT_THAT(text("SELECT char(155, 0x202e, 27, 0x7f) AS t", QueryFormat::kJson),
              HasSubstr(R"({"t":"\u009b\u202e\u001b\u007f"})"));
  EXPECT_EQ(text("SELECT char(155, 27) AS t", QueryFormat::kCsv), "t\n\u009b\x1b\n") << "exact data";
}

TEST_F(Queries, TableAndMarkdownCutLongCells) {
  const std::string sql =
      "SELECT printf('%.*c', 5000, 'a') AS \"" + std::string(3000, 'h') + "\", zeroblob(5000) AS b, 'x' AS c";
  const auto cut = [](char c) { return std::string(99, c) + "\u2026"; };
  EXPECT_EQ(text(sql, QueryFormat::kTable), fmt::format("{}  b{:99}  c\n{:->100}  {:->100}  -\n{}  {}  x\n",
                                                        cut('h'), "", "", "", cut('a'), cut('0')));
  EXPECT_THAT(text(sql, QueryFormat::kMarkdown), HasSubstr("| " + cut('a') + " | " + cut('0') + " |"));
  EXPECT_EQ(text("SELECT printf('%.*c', 100, 'a') AS t", QueryFormat::kTable),
            fmt::format("t\n{:->100}\n{:a>100}\n", "", ""));
  for (const auto format : {QueryFormat::kCsv, QueryFormat::kJson, QueryFormat::kJsonl, QueryFormat::kLatex})
    EXPECT_THAT(text(sql, format), HasSubstr(std::string(5000, 'a')));
}

TEST_F(Queries, GenevalTargetsAreInWordsForReadersAndWholeAsData) {
  const std::string target = R"({"include":[{"class":"star","count":3}],"tag":"counting"})";
  const auto sql = "SELECT '" + target + "' AS target";
  EXPECT_EQ(text(sql, QueryFormat::kTable), "target\n----------------\ncounting: 3 star\n");
  EXPECT_THAT(text(sql, QueryFormat::kMarkdown), HasSubstr("| counting: 3 star |"));
  EXPECT_EQ(text(sql, QueryFormat::kCsv), "target\n" + csv_field(target) + "\n");
  EXPECT_EQ(parse_json(text(sql, QueryFormat::kJson), "json")[0]["target"], target);
}

TEST_F(Queries, LongValuesAreWrittenInPiecesAndWhole) {
  const std::string sql = "SELECT replace(printf('%.*c', 100000, 'a'), 'a', 'é\"--\n') AS t";
  const auto value = std::get<std::string>(query(sql).rows[0][0]);
  std::string whole;
  std::size_t longest = 0;
  write_rows(query(sql), QueryFormat::kJson, [&](std::string_view piece) {
    whole += piece;
    longest = std::max(longest, piece.size());
    return true;
  });
  EXPECT_EQ(parse_json(whole, "json")[0]["t"].get<std::string>(), value);
  EXPECT_LT(longest, 100'000u);
  EXPECT_EQ(text(sql, QueryFormat::kCsv), "t\n" + csv_field(value) + "\n");
  EXPECT_THAT(text(sql, QueryFormat::kLatex), HasSubstr(latex_text(value) + " \\\\\n"));
}

TEST_F(Queries, NothingMoreIsFormattedThanIsWanted) {
  const auto rows =
      query("WITH RECURSIVE c (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c LIMIT 100000) SELECT x FROM c");
  for (const auto& name : query_format_names()) {
    std::size_t bytes = 0;
    write_rows(rows, query_format(name), [&](std::string_view piece) {
      bytes += piece.size();
      return false;
    });
    EXPECT_LT(bytes, 100'000u) << name;
  }
}

TEST_F(Queries, RowsAndSqliteShareOneBudget) {
  // SQLite keeps the text of the inner SELECT, 6 MB, while 28 MB of rows are given: each fits, together they
  // do not.
  const auto sql = [](const char* blob, const char* text) {
    return fmt::format(
        "WITH RECURSIVE c (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c LIMIT 28) "
        "SELECT zeroblob({}) || x, substr((SELECT hex(zeroblob({}))), x, 1) FROM c",
        blob, text);
  };
  const auto run = [&](const std::string& statement) {
    run_query(db(), {.sql = statement, .max_bytes = std::size_t{32} << 20});
  };
  EXPECT_NO_THROW(run(sql("1000000", "8")));
  EXPECT_NO_THROW(run(sql("8", "3000000")));
  const auto error = error_of([&] { run(sql("1000000", "3000000")); });
  EXPECT_EQ(error.problem(), "needs more than 32 MB of memory and was stopped");
  EXPECT_EQ(error.status(), Status::kFailed);
}

TEST_F(Queries, JsonRefusesWhatItCannotSay) {
  EXPECT_EQ(error_of([&] { text("SELECT 1 AS a, 2 AS a", QueryFormat::kJson); }).problem(),
            "two columns are named \"a\"");
  EXPECT_EQ(error_of([&] { text("SELECT 9e999 AS a", QueryFormat::kJson); }).where(), "column \"a\", row 1");
  EXPECT_THROW(text("SELECT CAST(x'ff' AS TEXT) AS a", QueryFormat::kJsonl), Error);
}

TEST_F(Queries, LatexIsWhatTheTablesWrite) {
  EXPECT_THAT(text("SELECT 'a' AS t, 1 AS n", QueryFormat::kLatex), HasSubstr("\\begin{tabular}{lr}"));
  for (const char* value :
       {"a_b & 50% \\ {x} ~^#$", "a--b \"c\"", "\u2028 \u202e \u2066 \u4f60", "caf\u00e9 \u03bb"}) {
    const ResultSet rows{.columns = {"x"}, .rows = {{std::string(value)}}};
    EXPECT_THAT(written(rows, QueryFormat::kLatex), HasSubstr("\n" + latex_text(value) + " \\\\\n"));
  }
  EXPECT_THAT(text("SELECT CAST(x'61ff' AS TEXT)", QueryFormat::kLatex), HasSubstr("a\\textbackslash{}xff"));
}

TEST_F(Queries, NumbersReadBackTheSame) {
  for (const double number : {0.1, 1.0 / 3, 1e-300, -0.0, 123456789.123456789}) {
    const ResultSet rows{.columns = {"x"}, .rows = {{number}}};
    EXPECT_EQ(std::stod(split(written(rows, QueryFormat::kCsv), '\n')[1]), number);
    EXPECT_EQ(parse_json(written(rows, QueryFormat::kJson), "json")[0]["x"].get<double>(), number);
  }
}

TEST(QueryFormats, UnknownOneGetsTheNearestName) {
  EXPECT_EQ(query_format("md"), QueryFormat::kMarkdown);
  const auto error = error_of([] { query_format("jsn"); });
  EXPECT_EQ(error.hint(), "did you mean \"json\"? known: table, csv, json, jsonl, md, latex");
  EXPECT_EQ(error_of([] { query_format("pdf"); }).hint(), "known: table, csv, json, jsonl, md, latex");
  EXPECT_EQ(error.where(), "--format");
}

}  // namespace
}  // namespace harness
