#include "results/schema/schema.h"

#include <set>

#include "core/json.h"
#include "results/schema/database_file.h"
#include "tests/results/store_fixture.h"

namespace harness {
namespace {

constexpr Migration kOld[] = {{1, "CREATE TABLE runs (id TEXT PRIMARY KEY, method TEXT) STRICT"}};
constexpr Migration kNew[] = {kOld[0], {2, "ALTER TABLE runs ADD COLUMN seed INTEGER NOT NULL DEFAULT 42"}};
constexpr Migration kBroken[] = {
    kOld[0], {2, "ALTER TABLE runs ADD COLUMN seed INTEGER; INSERT INTO no_such_table VALUES (1)"}};
constexpr Migration kDangling[] = {kOld[0],
                                   {2,
                                    "CREATE TABLE checkpoints (run_id TEXT REFERENCES runs (id)) STRICT; "
                                    "INSERT INTO checkpoints VALUES ('gone')"}};

constexpr Schema kOldSchema{.migrations = kOld, .views = "CREATE VIEW v AS SELECT method FROM runs;"};
constexpr Schema kNewSchema{.migrations = kNew, .views = "CREATE VIEW v AS SELECT method, seed FROM runs;"};
constexpr Schema kBrokenSchema{.migrations = kBroken, .views = ""};
constexpr Schema kDanglingSchema{.migrations = kDangling, .views = ""};

class Schemas : public testing::Test {
 protected:
  std::filesystem::path path() const { return folder_.path() / "results.sqlite"; }

  OpenedDatabase open(const Schema& schema, OpenMode mode = OpenMode::kReadWrite) {
    return open_database(path(), mode, std::nullopt, schema);
  }

  /// A DB of an earlier version with a checkpoint, and what `sql` makes of it.
  void make_with_checkpoint(int version, const std::string& set, const char* more = "") {
    const auto steps = static_cast<std::size_t>(version - current_schema().oldest() + 1);
    auto opened = open({.migrations = current_schema().migrations.first(steps), .views = ""});
    opened.db->exec(
        "INSERT INTO runs VALUES ('r', 't', 'dual', 'glyph', 'ocr', 'default', 42, '{}', 'f', 'w', NULL, 'done', "
        "'{}', '{}', 1, 'now', NULL)");
    opened.db->exec("INSERT INTO checkpoints (id, run_id, step) VALUES (1, 'r', 80)");
    opened.db->exec("UPDATE checkpoints SET " + set);
    opened.db->exec(more);
  }

  /// A DB of kOldSchema with one run.
  void make_old() { open(kOldSchema).db->exec("INSERT INTO runs VALUES ('a', 'dual')"); }

 private:
  TemporaryFolder folder_{kFast};
};

TEST_F(Schemas, MigrationsAreNumberedFromThatOf010WithoutGap) {
  int expected = 8;
  for (const auto& step : current_schema().migrations) EXPECT_EQ(step.version, ++expected);
  EXPECT_EQ(current_schema().version(), 15);
}

TEST_F(Schemas, NewDatabaseIsMarkedAsOursStrictAndOfTheCurrentVersion) {
  auto opened = open_database(path(), OpenMode::kReadWrite);
  EXPECT_EQ(opened.db->execAndGet("PRAGMA application_id").getInt64(), kApplicationId);
  EXPECT_EQ(schema_version(*opened.db), current_schema().version());
  EXPECT_EQ(opened.db->execAndGet("PRAGMA journal_mode").getString(), "wal");
  EXPECT_EQ(opened.db->execAndGet("PRAGMA synchronous").getInt(), 2);
  EXPECT_EQ(opened.db->execAndGet("PRAGMA foreign_keys").getInt(), 1);
  EXPECT_EQ(opened.notice, "");
  SQLite::Statement loose(
      *opened.db,
      "SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table' AND strict = 0 "
      "AND name NOT LIKE 'sqlite_%'");
  while (loose.executeStep()) ADD_FAILURE() << loose.getColumn(0).getString();
  // What the views need of the library.
  EXPECT_EQ(opened.db->execAndGet("SELECT sqrt(4.0)").getDouble(), 2);
  EXPECT_EQ(opened.db->execAndGet("SELECT exp(0.0)").getDouble(), 1);
}

// The contract: users' SQL relies on these names.
TEST_F(Schemas, TablesAndViewsHaveTheColumnsThatQueriesRelyOn) {
  const std::map<std::string, std::string> contract = {
      {"runs", "id table_id method backbone task scale seed config"},
      {"table_runs", "table_id run_id"},
      {"checkpoints",
       "id run_id step path sha256 lambda_late lambda_late_last clip_fraction seconds scorer_seconds "
       "core_seconds peak_bytes weight_copies gpu_busy_seconds"},
      {"prompt_sets", "id name sha256"},
      {"prompts", "id prompt_set_id position text target"},
      {"evaluations", "id checkpoint_id split n not_run"},
      {"samples", "id evaluation_id prompt_id sample seed path sha256 transcript transcript_raw judgement"},
      {"detections", "evaluation_id prompt_id sample rank name score x0 y0 x1 y1 colour counted"},
      {"metrics", "evaluation_id prompt_id sample name value reason"},
      {"train_stats", "run_id update_index timestep name value fresh on_policy"},
      {"selections", "id run_id checkpoint_id split metric rule value"},
      {"comparisons", "baseline method metric n delta wins ties losses p_value test"},
      {"alarms", "method reward reward_delta guardrail harmful minimal_effect delta ci95_low ci95_high"},
      {"artifacts", "name path"},
      {"events", "job_id type message"},
      {"v_results",
       "table_id method backbone scale seed checkpoint split metric mean std n n_missing lambda_late"},
      {"v_selections", "id run_id checkpoint_id evaluation_id metric rule candidates"},
      {"v_budgets", "run_id seed checkpoint images nfe_total seconds core_seconds gpu_idle peak_bytes"},
      {"v_paired",
       "table_id split metric seed prompt_id sample baseline method baseline_value method_value delta"},
      {"v_experiment_evaluations",
       "experiment table_id backbone scale run_id method seed checkpoint evaluation_id split folder"},
      {"v_experiment_pairs",
       "experiment table_id split metric seed prompt_id sample baseline method baseline_value method_value "
       "delta"},
      {"v_evaluations", "table_id method seed checkpoint split metric mean evaluation_id latest"},
      {"v_law_audit",
       "run_id method seed timestep updates lambda_center lambda_var log_ratio_mean log_ratio_var "
       "predicted_mean"}};
  auto opened = open_database(path(), OpenMode::kReadWrite);
  for (const auto& [relation, columns] : contract) {
    std::string list;
    for (const char c : columns) list += c == ' ' ? ',' : c;
    EXPECT_NO_THROW(opened.db->exec("SELECT " + list + " FROM " + relation)) << relation;
  }
}

TEST_F(Schemas, OlderDatabaseIsBroughtUpToDateWithItsRows) {
  make_old();
  auto opened = open(kNewSchema);
  EXPECT_EQ(schema_version(*opened.db), 2);
  EXPECT_EQ(opened.db->execAndGet("SELECT method || seed FROM runs").getString(), "dual42");
  EXPECT_EQ(opened.db->execAndGet("SELECT seed FROM v").getInt(), 42) << "views are made anew";
  const auto bytes =
      read_file(path());  // while the DB is open, so that a WAL is not yet written back by closing
  EXPECT_EQ(bytes.substr(60, 4), std::string("\0\0\0\2", 4));
  EXPECT_EQ(opened.db->execAndGet("PRAGMA foreign_keys").getInt(), 1);
}

TEST_F(Schemas, MigrationThatFailsLeavesTheOldDatabase) {
  for (const auto* schema : {&kBrokenSchema, &kDanglingSchema}) {
    std::filesystem::remove(path());
    make_old();
    EXPECT_THROW(open(*schema), Error);
    auto opened = open(kOldSchema);
    EXPECT_EQ(schema_version(*opened.db), 1);
    EXPECT_EQ(opened.db->execAndGet("SELECT count(*) FROM v").getInt(), 1);
    EXPECT_EQ(opened.db->execAndGet("SELECT count(*) FROM pragma_table_info('runs')").getInt(), 2);
  }
}

TEST_F(Schemas, OlderDatabaseIsReadAsIfItWereUpToDateAndStaysAsItIs) {
  make_old();
  const auto hash = sha256_file(path());
  {
    auto reader = open(kNewSchema, OpenMode::kReadOnly);
    EXPECT_EQ(reader.db->execAndGet("SELECT method || seed FROM v").getString(), "dual42");
    EXPECT_THROW(reader.db->exec("DELETE FROM runs"), SQLite::Exception);
  }
  EXPECT_EQ(sha256_file(path()), hash);
}

TEST_F(Schemas, OpeningTwiceChangesNothing) {
  open_database(path(), OpenMode::kReadWrite);
  const auto before = sha256_file(path());
  open_database(path(), OpenMode::kReadWrite);
  EXPECT_EQ(sha256_file(path()), before);
}

class Refused : public Schemas {
 protected:
  /// Opening in either mode must fail with `problem` and leave every byte.
  void expect_refused(const std::string& problem) {
    const auto before = sha256_file(path());
    for (const auto mode : {OpenMode::kReadWrite, OpenMode::kReadOnly}) {
      const auto error = error_of([&] { open_database(path(), mode); });
      EXPECT_NE(std::string(error.what()).find(problem), std::string::npos) << error.what();
      EXPECT_EQ(error.where(), path().string());
      EXPECT_NE(error.hint(), "");
      EXPECT_EQ(error.status(), Status::kUsage);
    }
    EXPECT_EQ(sha256_file(path()), before);
  }

  void write(const std::string& bytes) { std::ofstream(path(), std::ios::binary) << bytes; }
};

TEST_F(Refused, WhatIsNoResultsDatabaseOrANewerOneAndSqliteNeverComesNearIt) {
  struct Case {
    std::string name, sql, bytes, problem;
  };
  const std::vector<Case> cases = {
      {"another program's", "PRAGMA application_id = 1234; CREATE TABLE runs (id TEXT)", "",
       "is a database of another program (application id 0x4d2)"},
      {"without an application id", "CREATE TABLE t (x)", "", "is a database of another program"},
      {"in WAL mode", "PRAGMA journal_mode = WAL; CREATE TABLE t (x); INSERT INTO t VALUES (1)", "",
       "is a database of another program"},
      {"a text", "", "these are my notes, please do not overwrite them\n" + std::string(200, 'x'),
       "is not an SQLite database"},
      {"shorter than a header", "", "SQLite format 3", "is not an SQLite database"},
      {"newer", "", "", "has schema version 99, this program knows 15"}};
  for (const auto& [name, sql, bytes, problem] : cases) {
    SCOPED_TRACE(name);
    std::filesystem::remove(path());
    if (!sql.empty()) {
      SQLite::Database(path().string(), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE).exec(sql);
    } else if (!bytes.empty()) {
      write(bytes);
    } else {
      open_database(path(), OpenMode::kReadWrite).db->exec("PRAGMA user_version = 99");
    }
    expect_refused(problem);
    for (const char* companion : {"-wal", "-shm", "-journal"})
      EXPECT_FALSE(std::filesystem::exists(path().string() + companion)) << companion;
  }
}

TEST_F(Refused, OneOfAVersionBefore010) {
  open_database(path(), OpenMode::kReadWrite).db->exec("PRAGMA user_version = 8");
  expect_refused(
      "has schema version 8, of a program before harness 0.1.0, which is the oldest that this one reads");
}

TEST_F(Refused, DamagedDatabase) {
  open_database(path(), OpenMode::kReadWrite);
  const auto whole = read_file(path());
  write(whole.substr(0, whole.size() / 2));
  expect_refused("is damaged");
  auto bytes = whole;
  for (std::size_t i = 100; i < 4096; ++i) bytes[i] = static_cast<char>(i * 31);
  write(bytes);
  expect_refused("is damaged");
}

TEST_F(Refused, AFolderAndAMissingFileWhereOneIsRead) {
  const auto error = error_of([&] { open_database(path(), OpenMode::kReadOnly); });
  EXPECT_EQ(error.problem(), "there is no results database");
  EXPECT_FALSE(std::filesystem::exists(path()));
  std::filesystem::create_directories(path());
  EXPECT_EQ(error_of([&] { open_database(path(), OpenMode::kReadWrite); }).problem(),
            "is a folder, not a results database");
}

TEST_F(Schemas, CreationMakesTheFolderAndTakesAnEmptyFile) {
  const auto deep = path().parent_path() / "a" / "b" / "results.sqlite";
  open_database(deep, OpenMode::kReadWrite);
  EXPECT_TRUE(std::filesystem::exists(deep));
  std::ofstream(path()).flush();
  EXPECT_EQ(schema_version(*open_database(path(), OpenMode::kReadWrite).db), current_schema().version());
}

TEST_F(Schemas, Version10AddsWhatATrainingSpentAndAReaderOfVersion9SeesNone) {
  const auto seen = [](SQLite::Database& db) {
    return db.execAndGet("SELECT lambda_late || ifnull(seconds + peak_bytes, ' unknown') FROM checkpoints")
        .getString();
  };
  make_with_checkpoint(9, "lambda_late = 0.5");
  const auto bytes = sha256_file(path());
  EXPECT_EQ(seen(*open_database(path(), OpenMode::kReadOnly).db), "0.5 unknown");
  EXPECT_EQ(sha256_file(path()), bytes);
  auto opened = open_database(path(), OpenMode::kReadWrite);
  EXPECT_EQ(seen(*opened.db), "0.5 unknown");
  opened.db->exec("UPDATE checkpoints SET seconds = 12.5, peak_bytes = 7");
  EXPECT_EQ(seen(*opened.db), "0.519.5");
}

TEST_F(Schemas, Version11AddsHowLongGpusWereBusyAndReadersOfEarlierVersionsSeeNone) {
  const auto seen = [](SQLite::Database& db) {
    return db
        .execAndGet("SELECT ifnull(seconds, 'unknown') || ' ' || ifnull(gpu_idle, 'unknown') FROM v_budgets")
        .getString();
  };
  for (const auto& [version, sql, expected] :
       {std::tuple(9, "lambda_late = 0.5", "unknown unknown"),
        std::tuple(10, "seconds = 12.5, core_seconds = 20", "12.5 unknown")}) {
    std::filesystem::remove(path());
    make_with_checkpoint(version, sql);
    const auto bytes = sha256_file(path());
    EXPECT_EQ(seen(*open_database(path(), OpenMode::kReadOnly).db), expected);
    EXPECT_EQ(sha256_file(path()), bytes);
    auto opened = open_database(path(), OpenMode::kReadWrite);
    EXPECT_EQ(seen(*opened.db), expected);
    opened.db->exec("UPDATE checkpoints SET seconds = 12.5, core_seconds = 20, gpu_busy_seconds = 15");
    EXPECT_EQ(seen(*opened.db), "12.5 0.25");
  }
}

/// A leaderboard of one run: checkpoint 40 is the table's, and 20 was tested at equal evaluations alone.
/// Selected by another metric: 20.
constexpr auto kLeaderboard = R"sql(
  INSERT INTO checkpoints (id, run_id, step) VALUES (2, 'r', 20), (3, 'r', 40);
  INSERT INTO prompt_sets VALUES (1, 'set', 's', 1, '');
  INSERT INTO selections VALUES
    (1, 'r', 3, 'validation', 'own', 'max-mean', 0.5, NULL, '["v20","v40"]', 'now'),
    (2, 'r', 2, 'validation', 'own', 'max-mean within nfe_total', 0.4, NULL, '["v20"]', 'now'),
    (3, 'r', 2, 'validation', 'other', 'max-mean', 0.4, NULL, '["v20","v40"]', 'now');
  INSERT INTO evaluations VALUES
    ('v20', 2, 'validation', 1, '{}', 'done', '', 1, 's', 1, '{}', '{}', NULL, 0, 'now', 'now'),
    ('v40', 3, 'validation', 1, '{}', 'done', '', 1, 's', 1, '{}', '{}', NULL, 0, 'now', 'now'),
    ('t20', 2, 'test', 1, '{}', 'done', '', 1, 's', 1, '{}', '{}', 2, 0, 'now', 'now'),
    ('t40', 3, 'test', 1, '{}', 'done', '', 1, 's', 1, '{}', '{}', 1, 0, 'now', 'now');
  UPDATE selections SET evaluation_id = CASE checkpoint_id WHEN 2 THEN 'v20' ELSE 'v40' END;
  INSERT INTO reproductions VALUES (1, 'd', 't', 'glyph', 'default', '[42]', '["dual"]',
    '{"selection": {"metric": "first"}, "backbones": {"glyph": {"stands_in": {"first": "own"}}},
      "leaderboard": {"second_view": {}}}', '', 'now', 1, 1);
  INSERT INTO reproduction_runs VALUES (1, 'r', 'dual');
  INSERT INTO reproduction_evaluations VALUES (1, 'v20'), (1, 'v40'), (1, 't20'), (1, 't40'))sql";

TEST_F(Schemas, Version13SelectsTheEvaluationsOfExperimentsThatWereRecordedBefore) {
  make_with_checkpoint(9, "step = 80", kLeaderboard);
  auto opened = open_database(path(), OpenMode::kReadWrite);
  const auto text = [&](const std::string& sql) { return opened.db->execAndGet(sql).getString(); };
  EXPECT_EQ(text("SELECT group_concat(evaluation_id) FROM v_experiment_evaluations"), "t40,v40");
  EXPECT_EQ(text("SELECT group_concat(kind) FROM (SELECT kind FROM selections ORDER BY id)"),
            "table,equal_evaluations,table");
  EXPECT_EQ(text("SELECT group_concat(id) FROM v_selections"), "1,3");
  opened.db->exec("UPDATE selections SET checkpoint_id = 2, evaluation_id = 'v20'");
  EXPECT_EQ(text("SELECT group_concat(evaluation_id) FROM v_experiment_evaluations"), "t40,v40")
      << "as recorded, whatever is selected later";
}

TEST_F(Schemas, NameWithSpecialCharactersIsNotAUri) {
  const auto odd = path().parent_path() / "100% a?mode=rw#b.sqlite";
  open_database(odd, OpenMode::kReadWrite);
  EXPECT_TRUE(std::filesystem::exists(odd));
  EXPECT_EQ(schema_version(*open_database(odd, OpenMode::kReadOnly).db), current_schema().version());
}

TEST_F(Schemas, NetworkFileSystemGetsARollbackJournalAndOneProcess) {
  open_database(path(), OpenMode::kReadWrite);  // made on a local disk, in WAL mode
  auto opened = open_database(path(), OpenMode::kReadWrite, "NFS");
  EXPECT_EQ(opened.db->execAndGet("PRAGMA journal_mode").getString(), "delete");
  EXPECT_EQ(opened.db->execAndGet("PRAGMA locking_mode").getString(), "exclusive");
  EXPECT_NE(opened.notice.find("network file system (NFS)"), std::string::npos);
  EXPECT_NE(opened.notice.find("--db"), std::string::npos);
  opened.db->exec("CREATE TABLE held (x)");
  EXPECT_FALSE(std::filesystem::exists(path().string() + "-shm"));
  SQLite::Database other(path().string(), SQLite::OPEN_READONLY);
  EXPECT_THROW(other.execAndGet("SELECT count(*) FROM runs"), SQLite::Exception);
}

TEST_F(Schemas, NetworkFileSystemsAreKnownByTheirMagicNumber) {
  EXPECT_EQ(network_file_system(0x6969), "NFS");
  EXPECT_EQ(network_file_system(0xff534d42), "CIFS");
  EXPECT_EQ(network_file_system(0xffffffffff534d42), "CIFS");  // f_type is signed on some machines
  EXPECT_EQ(network_file_system(0x0bd00bd0), "Lustre");
  EXPECT_EQ(network_file_system(0xef53), std::nullopt);      // ext4
  EXPECT_EQ(network_file_system(0x01021994), std::nullopt);  // tmpfs
  EXPECT_EQ(network_file_system(0x794c7630), std::nullopt);  // overlayfs
}

TEST_F(Schemas, TwoConnectionsCanCreateAtTheSameTime) {
  auto first = open_database(path(), OpenMode::kReadWrite);
  auto second = open_database(path(), OpenMode::kReadWrite);
  first.db->exec("INSERT INTO prompt_sets VALUES (1, 'a', 'a', 1, 'x')");
  EXPECT_EQ(second.db->execAndGet("SELECT count(*) FROM prompt_sets").getInt(), 1);
}

}  // namespace
}  // namespace harness
