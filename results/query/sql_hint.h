#pragma once

#include <map>
#include <string>
#include <vector>

namespace SQLite {
class Database;
}

namespace harness {

/// The names that a query can use.
struct SchemaNames {
  std::vector<std::string> relations;                      ///< tables and views
  std::map<std::string, std::vector<std::string>> owners;  ///< column -> the tables and views that have it
  std::vector<std::string> functions;
};

SchemaNames schema_names(SQLite::Database& db);

/// What helps against SQLite's messages "no such table: X", "no such column: X" and "no such function: X";
/// empty for others. `in_double_quotes`: X stood in double quotes, as only names do.
std::string name_hint(const std::string& message, const SchemaNames& names, bool in_double_quotes = false);

}  // namespace harness
