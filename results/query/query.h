#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace harness {

/// Bytes of a BLOB.
struct Blob {
  std::string bytes = {};
  bool operator==(const Blob&) const = default;
};

/// NULL, INTEGER, REAL, TEXT or BLOB.
using SqlValue = std::variant<std::monostate, std::int64_t, double, std::string, Blob>;

struct ResultSet {
  std::vector<std::string> columns = {};
  std::vector<std::vector<SqlValue>> rows = {};  ///< [rows][columns]

  std::string experiment = {};            ///< which one a saved query looked at, in words; empty if at all
  std::string nothing = "no rows";        ///< message if there are no rows
  std::optional<std::size_t> asked = {};  ///< how many rows a saved query was to give at most (its :n)

  /// True if as many rows as asked for were there; of rows with a `place`, in any of their groups.
  bool may_have_more() const;
};

struct QueryRequest {
  std::string sql = {};  ///< one statement, or the name of a saved query
  std::vector<std::pair<std::string, std::string>> params = {};  ///< name (without ':') -> value

  // What a query may take. Reaching one of them is an Error (Status::kFailed), never a shorter result.
  std::chrono::milliseconds time_limit{10'000};
  std::size_t max_rows = 1'000'000;
  std::size_t max_bytes = std::size_t{256} << 20;  ///< of the rows and SQLite's own memory together
};

/// The rows of one SELECT. Whatever the SQL, the file is only read (sql_guard.h). A parameter `:name` takes
/// its value from `params`: as a number where the text is one in its usual form, else as text; that of a
/// saved query as takes_number says. Throws Error with SQLite's message, line and column, and the nearest
/// name for one that is not there; for parameters and values that do not match; for several statements; as
/// saved_values, and as open_database for the file.
ResultSet run_query(const std::filesystem::path& db, const QueryRequest& request);

}  // namespace harness
