#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace harness {

struct SavedParam {
  std::string_view name;                     ///< says what a value is checked against (saved_params.cpp)
  std::optional<std::string_view> fallback;  ///< nothing: the user must give a value; "" stands for "any"
  std::string_view help;
  std::vector<std::string_view> choices = {};  ///< empty: any value
};

/// A query that `harness query NAME` runs.
struct SavedQuery {
  std::string_view name, summary;
  std::vector<SavedParam> params;
  std::string sql;
  bool of_one_experiment = false;        ///< :experiment, :split and :metric are always set (saved_values)
  std::string_view nothing = "no rows";  ///< the message of an answer without rows
};

/// How a saved query begins that reads `named`: runs by the name of their row where all tables that show them
/// call it the same, or where they were not trained here; else by their method.
inline const std::string kNamed = R"sql(
WITH named AS (
  SELECT id, table_id, scale, seed,
         CASE WHEN method IN ('outside', 'images')
           OR (SELECT count(DISTINCT arm) FROM table_runs WHERE run_id = runs.id) = 1 THEN
           ifnull((SELECT max(nullif(arm, '')) FROM table_runs WHERE run_id = runs.id), method)
         ELSE method END AS method, method AS trained_by
  FROM runs
))sql";

/// The tag of a prompt that is a record of GenEval; NULL of any other.
inline const std::string kGenevalTag = R"sql((SELECT json_extract(prompts.target, '$.tag') FROM prompt_sets
          WHERE id = prompts.prompt_set_id AND prompt_sets.name LIKE 'geneval-%'))sql";

}  // namespace harness
