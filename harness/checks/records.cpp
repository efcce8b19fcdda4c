#include <fmt/format.h>

#include <map>

#include "core/text.h"
#include "harness/checks/check.h"
#include "results/schema/schema.h"
#include "results/store/sql.h"

// Journal and event logs are the record: the DB must hold exactly their content.

namespace harness {
namespace {

constexpr const char* kRestore =
    "the DB is damaged, or another program changed it: `harness db rebuild` rebuilds it from the logs";

using SchemaObjects = std::map<std::string, std::string>;  // "table runs" -> its SQL

SchemaObjects schema_objects(SQLite::Database& db) {
  SQLite::Statement statement(db,
                              "SELECT type || ' ' || name, sql FROM sqlite_master WHERE sql IS NOT NULL AND "
                              "name NOT LIKE 'sqlite_%'");
  Query query(statement);
  SchemaObjects objects;
  while (query.step()) objects[query.text(0)] = squeeze_white_space(query.text(1));
  return objects;
}

/// Tables, constraints and views as this version makes them. A user's own views and indexes change
/// nothing; a trigger may.
void compare_schema(SQLite::Database& db, Findings& findings) {
  SQLite::Database fresh(":memory:", SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
  migrate(fresh, current_schema());
  const auto expected = schema_objects(fresh), found = schema_objects(db);
  for (const auto& [name, sql] : expected) {
    const auto ours = found.find(name);
    if (ours == found.end()) {
      findings.add("{} is gone from the schema", name);
    } else if (ours->second != sql) {
      findings.add("{} is not defined as harness defines it", name);
    }
  }
  for (const auto& [name, sql] : found) {
    if (name.starts_with("trigger ")) findings.add(name + " is not one of harness");
  }
}

}  // namespace

Findings check_database(const CheckedExperiment& experiment, Fields&) {
  const auto& checked = experiment.workspace.result();
  Findings findings{.problems = checked.at("findings").get<std::vector<std::string>>(),
                    .hint = checked.at("hint").is_null() ? kRestore : checked.at("hint").get<std::string>()};
  for (const auto& row : experiment.missing)
    findings.add("the experiment needs {}, which is not in the DB", row);
  compare_schema(experiment.store.database(), findings);
  const auto version = schema_version(experiment.store.database());
  if (checked.at("rows_compared")) {
    findings.summary = fmt::format("sound, schema version {}, every row as in the logs", version);
  } else {
    findings.warning = fmt::format("sound, schema version {}; {}", version,
                                   join(checked.at("notes").get<std::vector<std::string>>(), "; "));
  }
  return findings;
}

}  // namespace harness
