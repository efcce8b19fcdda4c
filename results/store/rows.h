#pragma once

#include <tuple>
#include <vector>

#include "results/store/sql.h"
#include "results/store/store.h"

namespace harness {

/// Rows of a SELECT; SQLite's failures become Errors that name the DB.
template <class Row, class Read, class... Values>
std::vector<Row> checked_rows(Store& store, const char* sql, Read read, const Values&... values) {
  return guarded(store.path(), [&] {
    SQLite::Statement statement(store.database(), sql);
    Query query(statement, values...);
    std::vector<Row> rows;
    while (query.step()) rows.push_back(read(query));
    return rows;
  });
}

/// Takes the columns of a row one after the other.
struct Columns {
  const Query& row;
  int next = 0;

  template <class T>
  T take() {
    if constexpr (std::is_same_v<T, std::string>) {
      return row.text(next++);
    } else if constexpr (std::is_same_v<T, std::optional<std::string>>) {
      return row.optional_text(next++);
    } else if constexpr (std::is_same_v<T, std::optional<std::int64_t>>) {
      return row.optional_integer(next++);
    } else if constexpr (std::is_same_v<T, std::optional<double>>) {
      return row.real(next++);
    } else if constexpr (std::is_same_v<T, double>) {
      return row.real(next++).value_or(0);
    } else {
      return static_cast<T>(row.integer(next++));
    }
  }
};

/// Rows of a SELECT as aggregates, whose fields take the columns in order; NULL is 0 where a field is a
/// number.
template <class Row, class... Types, class... Values>
std::vector<Row> rows_as(Store& store, const char* sql, const Values&... values) {
  const auto read = [](const Query& query) {
    Columns columns{query};
    return Row{columns.take<Types>()...};
  };
  return checked_rows<Row>(store, sql, read, values...);
}

/// Rows of a SELECT as tuples of their columns; of one column the columns themselves.
template <class... Types, class... Values>
auto rows_of(Store& store, const char* sql, const Values&... values) {
  using Row = std::tuple_element_t<
      0, std::conditional_t<sizeof...(Types) == 1, std::tuple<Types...>, std::tuple<std::tuple<Types...>>>>;
  return rows_as<Row, Types...>(store, sql, values...);
}

}  // namespace harness
