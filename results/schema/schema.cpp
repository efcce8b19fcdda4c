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

// Version 10. What the training of a checkpoint had spent by then. NULL in logs of early versions.
constexpr const char* kSchemaVersion10 = R"sql(
ALTER TABLE checkpoints ADD COLUMN seconds REAL;
ALTER TABLE checkpoints ADD COLUMN scorer_seconds REAL;
ALTER TABLE checkpoints ADD COLUMN core_seconds REAL;
ALTER TABLE checkpoints ADD COLUMN peak_bytes INTEGER;
ALTER TABLE checkpoints ADD COLUMN weight_copies REAL;
)sql";

// Version 11. How long a GPU had the training's work by then.
constexpr const char* kSchemaVersion11 = R"sql(
ALTER TABLE checkpoints ADD COLUMN gpu_busy_seconds REAL;
)sql";

// Version 12. Of which kind a selection is (SelectionKind), and which evaluations of an experiment are
// selected. The journal's word for a kind is the rule: no other place reads it from there.
constexpr const char* kSchemaVersion12 = R"sql(
ALTER TABLE selections ADD COLUMN kind TEXT GENERATED ALWAYS AS (
  CASE WHEN rule = 'fixed' THEN 'fixed' WHEN rule LIKE '% within nfe_total' THEN 'equal_evaluations' ELSE 'table' END);
ALTER TABLE reproduction_evaluations ADD COLUMN selected INTEGER CHECK (selected IN (0, 1));
)sql";

// Version 14. NULL in comparisons of earlier versions.
constexpr const char* kSchemaVersion14 = R"sql(
ALTER TABLE comparisons ADD COLUMN prompts_won REAL;
)sql";

// Version 15. What was asked before the tests, in the order in which it was recorded, and runs that had been
// tested before they were removed.
constexpr const char* kSchemaVersion15 = R"sql(
CREATE TABLE plans (
  id       INTEGER PRIMARY KEY,
  digest   TEXT NOT NULL UNIQUE,
  document TEXT NOT NULL CHECK (json_valid(document)),
  created  TEXT NOT NULL
) STRICT;
CREATE TABLE opened_runs (
  run_id TEXT PRIMARY KEY
) STRICT, WITHOUT ROWID;
)sql";

// Version 13 selects for the experiments that were recorded before.
constexpr Migration kMigrations[] = {{9, kSchemaVersion9},   {10, kSchemaVersion10},   {11, kSchemaVersion11},
                                     {12, kSchemaVersion12}, {13, kSelectEvaluations}, {14, kSchemaVersion14},
                                     {15, kSchemaVersion15}};

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

const Schema& current_schema() {
  static const Schema current{.migrations = kMigrations, .views = views_sql().c_str()};
  return current;
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
