#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace SQLite {
class Database;
}

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
  std::string_view sql;
  bool of_one_experiment = false;        ///< :experiment, :split and :metric are always set (saved_values)
  std::string_view nothing = "no rows";  ///< what an answer without rows says
};

/// All saved queries by name.
std::span<const SavedQuery> saved_queries();

/// Nothing if there is none of that name.
const SavedQuery* find_saved_query(std::string_view name);

using QueryParams = std::vector<std::pair<std::string, std::string>>;  ///< name (without ':') -> value

/// What a saved query runs with.
struct SavedValues {
  QueryParams params = {};      ///< a value for every parameter of its SQL
  std::string experiment = {};  ///< which one it looks at, in words; empty if at all
  std::string asked = {};       ///< what it looks for, in words: "method dual, split test"
};

/// Fills `given` up with defaults, and chooses the experiment of a query that looks at one: the last one
/// finished that fits `table`, `prompts` and the methods, unless `experiment` names it. Throws Error for a
/// parameter that the query has not, a missing one, a value of the wrong kind, and a name that the DB does
/// not hold; each with the nearest name and what there is.
SavedValues saved_values(SQLite::Database& db, const SavedQuery& query, const QueryParams& given);

}  // namespace harness
