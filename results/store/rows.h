#pragma once

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

}  // namespace harness
