#include "results/query/query.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "core/error.h"
#include "core/text.h"
#include "results/query/saved_queries.h"
#include "results/query/sql_guard.h"
#include "results/store/sql.h"

namespace harness {
namespace {

constexpr const char* kReadOnlyHint =
    "a query is one SELECT (or WITH ... SELECT); `SELECT name, sql FROM sqlite_schema` lists tables and views";

struct Finalize {
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};
using Prepared = std::unique_ptr<sqlite3_stmt, Finalize>;

/// What is run: the SQL, where its messages point, the values of its parameters, and the answer without its
/// rows.
struct Resolved {
  std::string sql, where;
  QueryParams params;
  bool is_saved = false;
  ResultSet answer = {};
};

bool is_one_word(std::string_view text) {
  return !text.empty() && text.find_first_of(" \t\r\n(;*") == std::string_view::npos;
}

Resolved resolve_saved(SQLite::Database& db, const SavedQuery& saved, const QueryParams& given) {
  auto values = saved_values(db, saved, given);
  const auto n = std::ranges::find(values.params, "n", &QueryParams::value_type::first);
  const auto asked = n == values.params.end() ? std::nullopt : parse_number<std::size_t>(n->second);
  return {.sql = saved.sql,
          .where = fmt::format("query {}", saved.name),
          .params = std::move(values.params),
          .is_saved = true,
          .answer = {.experiment = std::move(values.experiment),
                     .nothing = values.asked.empty() ? std::string(saved.nothing)
                                                     : fmt::format("{} for {}", saved.nothing, values.asked),
                     .asked = asked}};
}

Resolved resolve(SQLite::Database& db, const QueryRequest& request) {
  const std::string text(trim(request.sql));
  if (text.empty()) throw Error("is empty", "query", kReadOnlyHint);
  if (!is_one_word(text)) return {.sql = request.sql, .where = "SQL", .params = request.params};
  if (const auto* saved = find_saved_query(text)) return resolve_saved(db, *saved, request.params);
  std::vector<std::string> names;
  for (const auto& query : saved_queries()) names.emplace_back(query.name);
  throw Error(fmt::format("there is no saved query \"{}\"", text), "query", suggestion(text, names));
}

std::string place(const Resolved& query, int offset) {
  if (offset < 0 || offset > std::ssize(query.sql)) return query.where;
  const std::string_view before(query.sql.data(), static_cast<std::size_t>(offset));
  const auto line = std::ranges::count(before, '\n') + 1;
  const auto column = before.size() - (before.rfind('\n') + 1) + 1;  // npos + 1 is 0
  return fmt::format("{}, line {}, column {}", query.where, line, column);
}

/// Whether a name in double quotes begins at `offset`.
bool is_quoted(const std::string& sql, int offset) {
  return offset >= 0 && offset < std::ssize(sql) && sql[static_cast<std::size_t>(offset)] == '"';
}

void bind_text(sqlite3_stmt* statement, int index, const std::string& text) {
  sqlite3_bind_text(statement, index, text.data(), static_cast<int>(text.size()), SQLITE_TRANSIENT);
}

/// As a number where the text is one as a program would write it: "007" and hash ids such as "12e4" are text.
void bind_value(sqlite3_stmt* statement, int index, const std::string& text) {
  const auto is_all = [&]<class Number>(Number& number) {
    const auto* end = text.data() + text.size();
    const auto parsed = std::from_chars(text.data(), end, number);
    return parsed.ec == std::errc() && parsed.ptr == end;
  };
  const bool decimal = text.find('.') != std::string::npos || text.find("e-") != std::string::npos ||
                       text.find("e+") != std::string::npos;
  std::int64_t integer = 0;
  double real = 0;
  if (is_all(integer) && std::to_string(integer) == text) {
    sqlite3_bind_int64(statement, index, integer);
  } else if (decimal && is_all(real)) {
    sqlite3_bind_double(statement, index, real);
  } else {
    bind_text(statement, index, text);
  }
}

SqlValue column_value(sqlite3_stmt* statement, int column) {
  switch (sqlite3_column_type(statement, column)) {
    case SQLITE_INTEGER:
      return std::int64_t{sqlite3_column_int64(statement, column)};
    case SQLITE_FLOAT:
      return sqlite3_column_double(statement, column);
    case SQLITE_TEXT: {
      const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement, column));
      if (text == nullptr) return std::monostate{};  // no memory; collect asks
      return std::string(text, static_cast<std::size_t>(sqlite3_column_bytes(statement, column)));
    }
    case SQLITE_BLOB: {
      const auto* bytes = static_cast<const char*>(sqlite3_column_blob(statement, column));
      const auto size = static_cast<std::size_t>(sqlite3_column_bytes(statement, column));
      return Blob{bytes == nullptr ? std::string() : std::string(bytes, size)};
    }
    default:
      return std::monostate{};
  }
}

/// What a row takes of memory, about: its place in the list of rows, which grows by doubling, its values, and
/// what is allocated for texts too long to be held inside.
std::size_t bytes_of(const std::vector<SqlValue>& row) {
  constexpr std::size_t kAllocation = 16;
  const auto text_bytes = [](const std::string& text) {
    return text.capacity() <= std::string().capacity() ? 0 : text.capacity() + kAllocation;
  };
  std::size_t bytes = 2 * sizeof(row) + kAllocation + row.capacity() * sizeof(SqlValue);
  for (const auto& value : row) {
    if (const auto* text = std::get_if<std::string>(&value)) bytes += text_bytes(*text);
    if (const auto* blob = std::get_if<Blob>(&value)) bytes += text_bytes(blob->bytes);
  }
  return bytes;
}

/// The names that a query can use.
struct SchemaNames {
  std::vector<std::string> relations;                      ///< tables and views
  std::map<std::string, std::vector<std::string>> owners;  ///< column -> the tables and views that have it
  std::vector<std::string> functions;
};

std::map<std::string, std::vector<std::string>> owners_of(SQLite::Database& db) {
  std::map<std::string, std::vector<std::string>> owners;
  SQLite::Statement select(db, R"sql(
    SELECT c.name, s.name FROM sqlite_schema AS s, pragma_table_info(s.name) AS c
    WHERE s.type IN ('table', 'view') AND s.name NOT LIKE 'sqlite_%' ORDER BY s.type DESC, s.name)sql");
  while (select.executeStep())
    owners[select.getColumn(0).getString()].push_back(select.getColumn(1).getString());
  return owners;
}

/// "v_results" of "no such table: main.v_results", if the message starts like that.
std::optional<std::string> missing(const std::string& message, std::string_view prefix) {
  if (!message.starts_with(prefix)) return std::nullopt;
  const auto name = message.substr(prefix.size());
  const auto dot = name.rfind('.');
  return dot == std::string::npos ? name : name.substr(dot + 1);
}

/// A column that is there, and not in what the query reads.
std::string owners_hint(const std::string& column, const std::vector<std::string>& owners) {
  const auto first = std::span(owners).first(std::min<std::size_t>(4, owners.size()));
  const auto more = owners.size() - first.size();
  return fmt::format("{} is a column of {}{}, none of which this query reads under that name", column,
                     join(first, ", "), more > 0 ? fmt::format(" and {} more", more) : "");
}

std::string column_hint(const std::optional<std::string>& near) {
  return (near ? "did you mean \"" + *near + "\"? or " : "") + "put a text value in single quotes";
}

std::string quotes_hint(const std::string& text, const std::optional<std::string>& near) {
  const auto hint = "put a text value in single quotes: '" + text + "'";
  return near && *near != text ? hint + "; or did you mean the column \"" + *near + "\"?" : hint;
}

SchemaNames schema_names(SQLite::Database& db) {
  return {.relations = texts_of(db,
                                "SELECT name FROM sqlite_schema WHERE type IN ('table', 'view') "
                                "AND name NOT LIKE 'sqlite_%' ORDER BY type DESC, name"),
          .owners = owners_of(db),
          .functions = texts_of(db, "SELECT DISTINCT name FROM pragma_function_list ORDER BY name")};
}

/// What helps against SQLite's messages "no such table: X", "no such column: X" and "no such function: X";
/// empty for others. `in_double_quotes`: X stood in double quotes, as only names do.
std::string name_hint(const std::string& message, const SchemaNames& names, bool in_double_quotes) {
  if (const auto table = missing(message, "no such table: ")) return suggestion(*table, names.relations);
  if (const auto function = missing(message, "no such function: ")) {
    const auto near = nearest(*function, names.functions);
    return near ? "did you mean \"" + *near + "\"?" : "";
  }
  if (const auto column = missing(message, "no such column: ")) {
    const auto owners = names.owners.find(*column);
    if (!in_double_quotes && owners != names.owners.end()) return owners_hint(*column, owners->second);
    std::vector<std::string> columns;
    for (const auto& [name, _] : names.owners) columns.push_back(name);
    const auto near = nearest(*column, columns);
    return in_double_quotes ? quotes_hint(*column, near) : column_hint(near);
  }
  return "";
}

/// One connection with its limits, and its error for a failure.
class Session {
 public:
  Session(const std::filesystem::path& path, const QueryRequest& request)
      : path_(path),
        request_(request),
        opened_(open_database(path, OpenMode::kReadOnly)),
        query_(resolve(*opened_.db, request)),
        names_(schema_names(*opened_.db)),
        guard_(opened_.db->getHandle(), request.time_limit, request.max_bytes) {}

  ResultSet run() {
    const auto statement = prepare();
    bind(statement.get());
    auto result = query_.answer;
    for (int i = 0; i < sqlite3_column_count(statement.get()); ++i) {
      result.columns.emplace_back(sqlite3_column_name(statement.get(), i));
    }
    collect(statement.get(), result);
    return result;
  }

 private:
  sqlite3* handle() const { return opened_.db->getHandle(); }

  Prepared prepare() {
    const auto step = [this](const char* begin, const char** end) {
      sqlite3_stmt* raw = nullptr;
      const int code = sqlite3_prepare_v3(handle(), begin, -1, 0, &raw, end);
      if (code != SQLITE_OK) fail(code);
      return Prepared(raw);
    };
    if (query_.sql.find('\0') != std::string::npos) throw Error("contains a NUL byte", query_.where);
    const char* rest = nullptr;
    auto statement = step(query_.sql.c_str(), &rest);
    if (!statement) throw Error("holds no statement", query_.where, kReadOnlyHint);
    // What follows may be blanks and comments only; the authorizer watches this prepare, too.
    while (*rest != '\0') {
      const auto* begin = rest;
      if (step(begin, &rest))
        throw Error("holds more than one statement", query_.where, "run them one by one");
      if (rest == begin) break;
    }
    if (sqlite3_stmt_readonly(statement.get()) == 0 || sqlite3_column_count(statement.get()) == 0) {
      throw Error("is not a query", query_.where, kReadOnlyHint);
    }
    return statement;
  }

  void bind(sqlite3_stmt* statement) const {
    std::vector<std::string> wanted;
    for (int i = 1; i <= sqlite3_bind_parameter_count(statement); ++i) {
      const char* name = sqlite3_bind_parameter_name(statement, i);
      if (name == nullptr || name[0] == '?') {
        throw Error("has a parameter without a name", query_.where, "write :name and give -p name VALUE");
      }
      wanted.emplace_back(name + 1);
    }
    std::map<std::string, std::string> given;
    for (const auto& [name, value] : query_.params) {
      if (std::ranges::find(wanted, name) == wanted.end()) {
        throw Error(fmt::format("there is no parameter :{}", name), query_.where,
                    wanted.empty() ? "the query takes none" : suggestion(name, wanted));
      }
      if (!given.emplace(name, value).second)
        throw Error(fmt::format("parameter :{} is given twice", name), query_.where);
    }
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      const auto found = given.find(wanted[i]);
      if (found == given.end()) {
        throw Error(fmt::format("parameter :{} has no value", wanted[i]), query_.where,
                    fmt::format("add -p {} VALUE", wanted[i]));
      }
      const bool is_text = query_.is_saved && !takes_number(wanted[i]);
      (is_text ? bind_text : bind_value)(statement, static_cast<int>(i) + 1, found->second);
    }
  }

  void collect(sqlite3_stmt* statement, ResultSet& result) {
    const int columns = sqlite3_column_count(statement);
    std::size_t bytes = 0;
    int code;
    while ((code = sqlite3_step(statement)) == SQLITE_ROW) {
      auto& row = result.rows.emplace_back();
      row.reserve(static_cast<std::size_t>(columns));
      for (int i = 0; i < columns; ++i) row.push_back(column_value(statement, i));
      if (sqlite3_errcode(handle()) == SQLITE_NOMEM) fail(SQLITE_NOMEM);  // a value that found no room
      bytes += bytes_of(row);
      if (result.rows.size() > request_.max_rows) {
        throw Error(fmt::format("gives more than {} rows", request_.max_rows), query_.where,
                    "narrow it with WHERE or LIMIT", Status::kFailed);
      }
      if (bytes + static_cast<std::size_t>(sqlite3_memory_used()) > request_.max_bytes) fail(SQLITE_NOMEM);
      guard_.rows_take(bytes);
    }
    if (code != SQLITE_DONE) fail(code);
  }

  [[noreturn]] void fail(int code) const {
    const std::string message = sqlite3_errmsg(handle());
    const auto where = place(query_, sqlite3_error_offset(handle()));
    switch (code & 0xff) {
      case SQLITE_INTERRUPT:
        throw Error(fmt::format("ran longer than {:.4g} s and was stopped",
                                std::chrono::duration<double>(request_.time_limit).count()),
                    query_.where, "narrow it with WHERE, or end a recursion", Status::kFailed);
      case SQLITE_NOMEM:
        throw Error(fmt::format("needs more than {} MB of memory and was stopped", request_.max_bytes >> 20),
                    query_.where, "narrow it with WHERE or LIMIT", Status::kFailed);
      case SQLITE_AUTH:
        throw Error(message, where, kReadOnlyHint);
      case SQLITE_ERROR:
      case SQLITE_TOOBIG:
      case SQLITE_MISMATCH:
      case SQLITE_RANGE:
        throw Error(message, where,
                    name_hint(message, names_, is_quoted(query_.sql, sqlite3_error_offset(handle()))));
      default:
        throw database_error(SQLite::Exception(message, code), path_);
    }
  }

  const std::filesystem::path& path_;
  const QueryRequest& request_;
  OpenedDatabase opened_;
  Resolved query_;
  SchemaNames names_;
  SqlGuard guard_;  // last: everything before it reads the schema freely
};

}  // namespace

bool ResultSet::may_have_more() const {
  if (!asked) return false;
  const auto found = std::ranges::find(columns, "place");
  if (found == columns.end()) return rows.size() == *asked;
  const auto column = static_cast<std::size_t>(found - columns.begin());
  const SqlValue last = static_cast<std::int64_t>(*asked);
  return std::ranges::any_of(rows, [&](const auto& row) { return row.at(column) == last; });
}

ResultSet run_query(const std::filesystem::path& db, const QueryRequest& request) {
  return guarded(db, [&] { return Session(db, request).run(); });
}

}  // namespace harness
