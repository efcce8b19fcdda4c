#include "results/schema/schema.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <fmt/format.h>

#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "results/schema/schema_sql.h"

namespace harness {
namespace {

// Never edit a released version: add a migration.

// Version 2. `fresh` comes to mean what it says, that no update has used the samples; what it meant before,
// that the update is on-policy, gets a column of its own. A reproduction knows its runs, also those without
// an evaluation, and which row of the table each of them is.
constexpr const char* kSchemaVersion2 = R"sql(
ALTER TABLE train_stats ADD COLUMN on_policy INTEGER NOT NULL DEFAULT 0 CHECK (on_policy IN (0, 1));
UPDATE train_stats SET on_policy = fresh;
UPDATE train_stats SET fresh = 1
WHERE (
  SELECT (train_stats.update_index - 1)
      % (ifnull(json_extract(config, '$.settings.updates_per_epoch'), 2)
         * ifnull(json_extract(config, '$.settings.inner_epochs'), 1))
    < ifnull(json_extract(config, '$.settings.updates_per_epoch'), 2)
  FROM runs WHERE runs.id = train_stats.run_id);

-- Numbers that are never given twice, also after a row was deleted.
CREATE TABLE counters (
  name   TEXT    PRIMARY KEY NOT NULL,
  value  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO counters SELECT 'reproductions', ifnull(max(id), 0) FROM reproductions;

ALTER TABLE table_runs ADD COLUMN arm TEXT NOT NULL DEFAULT '';

CREATE TABLE reproduction_runs (
  reproduction_id  INTEGER NOT NULL REFERENCES reproductions (id),
  run_id           TEXT    NOT NULL REFERENCES runs (id),
  arm              TEXT    NOT NULL,
  PRIMARY KEY (reproduction_id, run_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX reproduction_runs_run ON reproduction_runs (run_id);
INSERT INTO reproduction_runs
SELECT DISTINCT member.reproduction_id, runs.id, runs.method
FROM reproduction_evaluations AS member
JOIN evaluations ON evaluations.id = member.evaluation_id
JOIN checkpoints ON checkpoints.id = evaluations.checkpoint_id
JOIN runs ON runs.id = checkpoints.run_id;
)sql";

// Version 3. Guardrail alarms of a reproduction.
constexpr const char* kSchemaVersion3 = R"sql(
CREATE TABLE alarms (
  id                INTEGER PRIMARY KEY,
  reproduction_id   INTEGER NOT NULL REFERENCES reproductions (id),
  split             TEXT    NOT NULL,
  baseline          TEXT    NOT NULL,
  method            TEXT    NOT NULL,
  reward            TEXT    NOT NULL,
  reward_delta      REAL    NOT NULL,
  reward_ci95_low   REAL    NOT NULL,
  reward_ci95_high  REAL    NOT NULL,
  guardrail         TEXT    NOT NULL,
  harmful           TEXT    NOT NULL CHECK (harmful IN ('lower', 'higher')),
  minimal_effect    REAL    NOT NULL,
  delta             REAL    NOT NULL,
  ci95_low          REAL    NOT NULL,
  ci95_high         REAL    NOT NULL,
  p_holm            REAL,
  rule_version      INTEGER NOT NULL,
  UNIQUE (reproduction_id, split, baseline, method, guardrail)
) STRICT;
)sql";

// Version 5. The last experiment is the one that was recorded or asked for last, whatever the clock was; and
// a DB knows the journals that it was written with, and how far.
constexpr const char* kSchemaVersion5 = R"sql(
ALTER TABLE reproductions ADD COLUMN recency INTEGER NOT NULL DEFAULT 0;
UPDATE reproductions SET recency = place.number
FROM (SELECT id, row_number() OVER (ORDER BY finished, id) AS number FROM reproductions) AS place
WHERE place.id = reproductions.id;
DROP INDEX reproductions_finished;
CREATE INDEX reproductions_recency ON reproductions (recency);

CREATE TABLE journals (
  id        TEXT    PRIMARY KEY NOT NULL,
  bytes     INTEGER NOT NULL,
  checksum  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
)sql";

constexpr const char* kReadBeforeVersion5 = R"sql(
CREATE TEMP VIEW reproductions AS
SELECT *, row_number() OVER (ORDER BY finished, id) AS recency FROM main.reproductions;
CREATE TEMP TABLE journals (id TEXT, bytes INTEGER, checksum INTEGER);
)sql";

// Version 7. What a comparison says of the methods where there are several training runs: runs and prompts
// drawn, crossed. All NULL in comparisons that an earlier version recorded.
constexpr const char* kSchemaVersion7 = R"sql(
ALTER TABLE comparisons ADD COLUMN claim TEXT;
ALTER TABLE comparisons ADD COLUMN runs INTEGER;
ALTER TABLE comparisons ADD COLUMN runs_se REAL;
ALTER TABLE comparisons ADD COLUMN runs_df REAL;
ALTER TABLE comparisons ADD COLUMN runs_ci95_low REAL;
ALTER TABLE comparisons ADD COLUMN runs_ci95_high REAL;
ALTER TABLE comparisons ADD COLUMN runs_p_value REAL;
)sql";

constexpr const char* kReadBeforeVersion7 = R"sql(
CREATE TEMP VIEW comparisons AS
SELECT *, NULL AS claim, NULL AS runs, NULL AS runs_se, NULL AS runs_df, NULL AS runs_ci95_low,
       NULL AS runs_ci95_high, NULL AS runs_p_value
FROM main.comparisons;
)sql";

// Version 9. What a detector found in an image, and what the rule over it found wrong.
constexpr const char* kSchemaVersion9 = R"sql(
ALTER TABLE samples ADD COLUMN judgement TEXT;

CREATE TABLE detections (
  evaluation_id  TEXT    NOT NULL,
  prompt_id      INTEGER NOT NULL,
  sample         INTEGER NOT NULL,
  rank           INTEGER NOT NULL CHECK (rank >= 0),
  name           TEXT    NOT NULL,
  score          REAL    NOT NULL,
  x0             REAL    NOT NULL,
  y0             REAL    NOT NULL,
  x1             REAL    NOT NULL,
  y1             REAL    NOT NULL,
  colour         TEXT,
  counted        INTEGER NOT NULL CHECK (counted IN (0, 1)),
  PRIMARY KEY (evaluation_id, prompt_id, sample, rank),
  FOREIGN KEY (evaluation_id, prompt_id, sample) REFERENCES samples (evaluation_id, prompt_id, sample)
) STRICT, WITHOUT ROWID;
)sql";

constexpr const char* kReadBeforeVersion9 = R"sql(
CREATE TEMP VIEW samples AS SELECT *, NULL AS judgement FROM main.samples;
CREATE TEMP TABLE detections (
  evaluation_id TEXT, prompt_id INTEGER, sample INTEGER, rank INTEGER, name TEXT, score REAL, x0 REAL, y0 REAL,
  x1 REAL, y1 REAL, colour TEXT, counted INTEGER);
)sql";

// Version 10. What the training of a checkpoint had spent by then. NULL in logs of early versions.
constexpr const char* kSchemaVersion10 = R"sql(
ALTER TABLE checkpoints ADD COLUMN seconds REAL;
ALTER TABLE checkpoints ADD COLUMN scorer_seconds REAL;
ALTER TABLE checkpoints ADD COLUMN core_seconds REAL;
ALTER TABLE checkpoints ADD COLUMN peak_bytes INTEGER;
ALTER TABLE checkpoints ADD COLUMN weight_copies REAL;
)sql";

constexpr const char* kReadBeforeVersion10 = R"sql(
CREATE TEMP VIEW checkpoints AS
SELECT *, NULL AS seconds, NULL AS scorer_seconds, NULL AS core_seconds, NULL AS peak_bytes, NULL AS weight_copies,
  NULL AS gpu_busy_seconds
FROM main.checkpoints;
)sql";

// Version 11. How long a GPU had the training's work by then.
constexpr const char* kSchemaVersion11 = R"sql(
ALTER TABLE checkpoints ADD COLUMN gpu_busy_seconds REAL;
)sql";

// Readers of a database of version 9 or before have the view above.
constexpr const char* kReadBeforeVersion11 = R"sql(
CREATE TEMP VIEW IF NOT EXISTS checkpoints AS SELECT *, NULL AS gpu_busy_seconds FROM main.checkpoints;
)sql";

// Versions 4 and 6 changed v_results, v_paired and the law audit's standard errors, 8 added the estimators of
// lambda to v_law_audit: views are made anew with every step.
constexpr const char* kViewsAlone = "";

constexpr Migration kMigrations[] = {{1, kSchemaVersion1},
                                     {2, kSchemaVersion2},
                                     {3, kSchemaVersion3},
                                     {4, kViewsAlone},
                                     {5, kSchemaVersion5, kReadBeforeVersion5},
                                     {6, kViewsAlone},
                                     {7, kSchemaVersion7, kReadBeforeVersion7},
                                     {8, kViewsAlone},
                                     {9, kSchemaVersion9, kReadBeforeVersion9},
                                     {10, kSchemaVersion10, kReadBeforeVersion10},
                                     {11, kSchemaVersion11, kReadBeforeVersion11}};
constexpr Schema kCurrent{.migrations = kMigrations, .views = kViews};

void drop_views(SQLite::Database& db) {
  std::vector<std::string> names;
  SQLite::Statement select(db, "SELECT name FROM sqlite_schema WHERE type = 'view'");
  while (select.executeStep()) names.push_back(select.getColumn(0).getString());
  select.reset();
  for (const auto& name : names) db.exec(fmt::format("DROP VIEW \"{}\"", name));
}

void check_foreign_keys(SQLite::Database& db, int version) {
  SQLite::Statement check(db, "PRAGMA foreign_key_check");
  if (!check.executeStep()) return;
  throw Error(fmt::format("a row of table {} would point nowhere after the change to schema version {}",
                          check.getColumn(0).getString(), version),
              db.getFilename(), kRebuildHint, Status::kFailed);
}

void apply_steps(SQLite::Database& db, const Schema& schema, int from) {
  // Dropped first: a step may remove a column that an old view reads.
  drop_views(db);
  for (const auto& step : schema.migrations) {
    if (step.version > from) db.exec(step.sql);
  }
  db.exec(schema.views);
  check_foreign_keys(db, schema.version());
  db.exec(fmt::format("PRAGMA application_id = {}", kApplicationId));
  db.exec(fmt::format("PRAGMA user_version = {}", schema.version()));
}

/// SQLite's own advice for changing tables: foreign keys off, which is possible outside a transaction only.
class ForeignKeysOff {
 public:
  explicit ForeignKeysOff(SQLite::Database& db) : db_(db) { db_.exec("PRAGMA foreign_keys = OFF"); }
  ~ForeignKeysOff() { db_.tryExec("PRAGMA foreign_keys = ON"); }
  ForeignKeysOff(const ForeignKeysOff&) = delete;
  ForeignKeysOff& operator=(const ForeignKeysOff&) = delete;

 private:
  SQLite::Database& db_;
};

}  // namespace

Schema schema_until(const Schema& schema, int version) {
  return {.migrations = schema.migrations.first(static_cast<std::size_t>(version)), .views = schema.views};
}

const Schema& current_schema() {
  return kCurrent;
}

int schema_version(SQLite::Database& db) {
  return db.execAndGet("PRAGMA user_version").getInt();
}

void migrate(SQLite::Database& db, const Schema& schema) {
  const ForeignKeysOff off(db);
  SQLite::Transaction transaction(db, SQLite::TransactionBehavior::IMMEDIATE);
  // Read under the write lock: another process may have done it while this one waited.
  const int from = schema_version(db);
  if (from < schema.version()) apply_steps(db, schema, from);
  transaction.commit();
}

}  // namespace harness
