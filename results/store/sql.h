#pragma once

#include <SQLiteCpp/SQLiteCpp.h>

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_map>
#include <vector>

#include "core/json.h"
#include "results/schema/database_file.h"
#include "results/store/records.h"

namespace harness {

/// Runs `body`, turning SQLite's failures into Errors that name the DB's file.
template <class Body>
auto guarded(const std::filesystem::path& file, Body&& body) {
  try {
    return body();
  } catch (const SQLite::Exception& failure) {
    throw database_error(failure, file);
  }
}

template <class T>
inline constexpr bool kIsOptional = false;
template <class T>
inline constexpr bool kIsOptional<std::optional<T>> = true;

/// No value is NULL.
template <class T>
void bind_value(SQLite::Statement& statement, int index, const T& value) {
  if constexpr (kIsOptional<T>) {
    if (value) return bind_value(statement, index, *value);
    statement.bind(index);
  } else if constexpr (std::is_same_v<T, std::nullopt_t>) {
    statement.bind(index);
  } else if constexpr (std::is_integral_v<T>) {
    statement.bind(index, static_cast<std::int64_t>(value));
  } else {
    statement.bind(index, value);
  }
}

/// One use of a prepared statement: binds the values to ?1, ?2, ..., and resets the statement at the end of
/// its scope, so that no read transaction stays open after it.
class Query {
 public:
  template <class... Values>
  explicit Query(SQLite::Statement& statement, const Values&... values) : statement_(statement) {
    int index = 0;
    (bind_value(statement_, ++index, values), ...);
  }
  ~Query() { statement_.tryReset(); }
  Query(const Query&) = delete;
  Query& operator=(const Query&) = delete;

  /// True while there is a row.
  bool step() { return statement_.executeStep(); }

  bool is_null(int column) const { return statement_.getColumn(column).isNull(); }
  std::int64_t integer(int column) const { return statement_.getColumn(column).getInt64(); }
  std::string text(int column) const { return statement_.getColumn(column).getString(); }
  std::optional<double> real(int column) const {
    const auto value = statement_.getColumn(column);
    return value.isNull() ? std::nullopt : std::optional(value.getDouble());
  }

 private:
  SQLite::Statement& statement_;
};

/// `place`: for messages about JSON that a column holds. NULL is 0 or "" where T is not optional.
template <class T>
T read_column(const Query& row, int column, const std::string& place = {}) {
  if constexpr (kIsOptional<T>) {
    if (row.is_null(column)) return std::nullopt;
    return read_column<typename T::value_type>(row, column, place);
  } else if constexpr (std::is_same_v<T, Json>) {
    return parse_json(row.text(column), place);
  } else if constexpr (kIsVector<T>) {
    return parse_json(row.text(column), place).template get<T>();
  } else if constexpr (std::is_same_v<T, JobState>) {
    return job_state_from_name(row.text(column));
  } else if constexpr (std::is_same_v<T, SelectionKind>) {
    return selection_kind_from_name(row.text(column));
  } else if constexpr (std::is_same_v<T, bool>) {
    return row.integer(column) != 0;
  } else if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(row.integer(column));
  } else if constexpr (std::is_floating_point_v<T>) {
    return row.real(column).value_or(0);
  } else {
    return row.text(column);
  }
}

/// The first column of the rows of a SELECT.
template <class... Values>
std::vector<std::string> texts_of(SQLite::Database& db, const char* sql, const Values&... values) {
  SQLite::Statement statement(db, sql);
  Query query(statement, values...);
  std::vector<std::string> texts;
  while (query.step()) texts.push_back(query.text(0));
  return texts;
}

/// Prepared statements by their text, each prepared once a connection.
class StatementCache {
 public:
  explicit StatementCache(SQLite::Database& db) : db_(db) {}

  /// `sql` must be a string constant: the cache keeps no copy.
  SQLite::Statement& operator[](std::string_view sql) {
    const auto found = statements_.find(sql);
    if (found != statements_.end()) return found->second;
    return statements_.try_emplace(sql, db_, std::string(sql)).first->second;
  }

  /// Runs a statement that returns no rows; the number of rows it changed.
  template <class... Values>
  int run(std::string_view sql, const Values&... values) {
    Query query((*this)[sql], values...);
    query.step();
    return db_.getChanges();
  }

 private:
  SQLite::Database& db_;
  std::unordered_map<std::string_view, SQLite::Statement> statements_;
};

}  // namespace harness
