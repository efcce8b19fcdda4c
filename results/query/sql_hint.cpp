#include "results/query/sql_hint.h"

#include <SQLiteCpp/SQLiteCpp.h>

#include <algorithm>
#include <optional>
#include <span>
#include <string_view>

#include "core/text.h"

namespace harness {
namespace {

std::vector<std::string> names_of(SQLite::Database& db, const char* sql) {
  std::vector<std::string> names;
  SQLite::Statement select(db, sql);
  while (select.executeStep()) names.push_back(select.getColumn(0).getString());
  return names;
}

std::map<std::string, std::vector<std::string>> owners_of(SQLite::Database& db) {
  std::map<std::string, std::vector<std::string>> owners;
  SQLite::Statement select(db,
                           "SELECT c.name, s.name FROM sqlite_schema AS s, pragma_table_info(s.name) AS c "
                           "WHERE s.type IN ('table', "
                           "'view') AND s.name NOT LIKE 'sqlite_%' ORDER BY s.type DESC, s.name");
  while (select.executeStep())
    owners[select.getColumn(0).getString()].push_back(select.getColumn(1).getString());
  return owners;
}

/// "v_results" of "no such table: main.v_results", if the message starts like that.
std::optional<std::string> missing(const std::string& message, std::string_view prefix) {
  if (!message.starts_with(prefix)) return std::nullopt;
  const auto name = message.substr(prefix.size());
  const auto dot = name.rfind('.');
  return dot == std::string::npos ? name : name.substr(dot + 1);
}

/// A column that is there, and not in what the query reads.
std::string owners_hint(const std::string& column, const std::vector<std::string>& owners) {
  const auto first = std::span(owners).first(std::min<std::size_t>(4, owners.size()));
  const auto more = owners.size() - first.size();
  return column + " is a column of " + join(first, ", ") +
         (more > 0 ? " and " + std::to_string(more) + " more" : "") +
         ", and of nothing that is read here under that name";
}

std::string column_hint(const std::optional<std::string>& near) {
  return (near ? "did you mean \"" + *near + "\"? " : "") + "(a text value stands in single quotes)";
}

std::string quotes_hint(const std::string& text, const std::optional<std::string>& near) {
  const auto hint = "a text value stands in single quotes: '" + text + "'";
  return near && *near != text ? hint + "; or did you mean the column \"" + *near + "\"?" : hint;
}

}  // namespace

SchemaNames schema_names(SQLite::Database& db) {
  return {.relations = names_of(db,
                                "SELECT name FROM sqlite_schema WHERE type IN ('table', 'view') "
                                "AND name NOT LIKE 'sqlite_%' ORDER BY type DESC, name"),
          .owners = owners_of(db),
          .functions = names_of(db, "SELECT DISTINCT name FROM pragma_function_list ORDER BY name")};
}

std::string name_hint(const std::string& message, const SchemaNames& names, bool in_double_quotes) {
  if (const auto table = missing(message, "no such table: ")) return suggestion(*table, names.relations);
  if (const auto function = missing(message, "no such function: ")) {
    const auto near = nearest(*function, names.functions);
    return near ? "did you mean \"" + *near + "\"?" : "";
  }
  if (const auto column = missing(message, "no such column: ")) {
    const auto owners = names.owners.find(*column);
    if (!in_double_quotes && owners != names.owners.end()) return owners_hint(*column, owners->second);
    std::vector<std::string> columns;
    for (const auto& [name, _] : names.owners) columns.push_back(name);
    const auto near = nearest(*column, columns);
    return in_double_quotes ? quotes_hint(*column, near) : column_hint(near);
  }
  return "";
}

}  // namespace harness
