#pragma once

#include <tuple>
#include <utility>
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

/// Rows of a SELECT as aggregates, whose fields take the columns in order; NULL is 0 where a field is a
/// number.
template <class Row, class... Types, class... Values>
std::vector<Row> rows_as(Store& store, const char* sql, const Values&... values) {
  const auto read = [](const Query& query) {
    const auto row = [&]<int... column>(std::integer_sequence<int, column...>) {
      return Row{read_column<Types>(query, column)...};
    };
    return row(std::make_integer_sequence<int, sizeof...(Types)>());
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
