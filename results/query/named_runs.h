#pragma once

#include <string>

namespace harness {

/// How a saved query begins that reads `named`: runs by the name of their row where all tables that show them
/// call it the same, or where nobody trained them here; else by their method.
inline const std::string kNamed = R"sql(
WITH named AS (
  SELECT id, table_id, scale, seed,
         CASE WHEN method IN ('outside', 'images')
           OR (SELECT count(DISTINCT arm) FROM table_runs WHERE run_id = runs.id) = 1 THEN
           ifnull((SELECT max(nullif(arm, '')) FROM table_runs WHERE run_id = runs.id), method)
         ELSE method END AS method, method AS trained_by
  FROM runs
))sql";

}  // namespace harness
