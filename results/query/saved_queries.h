#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "results/query/saved_query.h"

namespace SQLite {
class Database;
}

namespace harness {

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

/// Whether the values of a saved query's parameter are numbers; those of all others are text.
bool takes_number(std::string_view param);

/// Fills `given` up with defaults, and chooses the experiment of a query that looks at one: the last one
/// finished that fits `table`, `prompts` and the methods, unless `experiment` names it. Throws Error for a
/// parameter that the query has not, a missing one, a value of the wrong kind, and a name that the DB does
/// not hold; each with the nearest name and what there is.
SavedValues saved_values(SQLite::Database& db, const SavedQuery& query, const QueryParams& given);

}  // namespace harness
