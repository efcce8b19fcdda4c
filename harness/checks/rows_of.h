#pragma once

#include <tuple>

#include "results/store/rows.h"

namespace harness {

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
    } else if constexpr (std::is_same_v<T, std::optional<double>>) {
      return row.real(next++);
    } else {
      return static_cast<T>(row.integer(next++));
    }
  }
};

/// Rows of a SELECT as tuples of their columns; of one column the columns themselves.
template <class... Types, class... Values>
auto rows_of(Store& store, const char* sql, const Values&... values) {
  using Row = std::tuple_element_t<
      0, std::conditional_t<sizeof...(Types) == 1, std::tuple<Types...>, std::tuple<std::tuple<Types...>>>>;
  const auto read = [](const Query& query) {
    Columns columns{query};
    return Row{columns.take<Types>()...};
  };
  return checked_rows<Row>(store, sql, read, values...);
}

}  // namespace harness
