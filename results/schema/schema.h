#pragma once

#include <cstdint>
#include <span>

namespace SQLite {
class Database;
}

namespace harness {

/// What mends a DB that is damaged or gone, its logs being there.
inline constexpr const char* kRebuildHint =
    "`harness db rebuild` rebuilds it from the journal and the event logs";

/// Bytes 68..71 of every results DB (PRAGMA application_id): "LmbH". Tells it from any other program's SQLite
/// file.
inline constexpr std::uint32_t kApplicationId = 0x4c6d6248;

/// One step of the schema's history: the statements that lead from version - 1 to `version`, the first from
/// nothing. Released steps never change.
struct Migration {
  int version;
  const char* sql;
};

/// Everything that a DB is built from. The views hold no data and are made anew by every migration, so that a
/// changed view needs a new version number but no statements.
struct Schema {
  std::span<const Migration> migrations;  ///< without a gap
  const char* views;                      ///< CREATE VIEW statements

  int oldest() const { return migrations.empty() ? 0 : migrations.front().version; }
  int version() const { return migrations.empty() ? 0 : migrations.back().version; }
};

/// The schema of this build; results/SCHEMA.md describes it.
const Schema& current_schema();

/// PRAGMA user_version.
int schema_version(SQLite::Database& db);

/// Brings `db` (empty, or of schema.oldest() or later) to schema.version() in one transaction: all steps or
/// none, and leaves foreign keys on. Throws SQLite::Exception if a statement fails, Error (Status::kFailed)
/// if a row would point nowhere; the DB then is as before.
void migrate(SQLite::Database& db, const Schema& schema);

}  // namespace harness
