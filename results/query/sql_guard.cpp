#include "results/query/sql_guard.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sqlite3.h>
#include <time.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <string_view>
#include <utility>

namespace harness {
namespace {

bool is_harmless_function(const char* name) {
  return sqlite3_stricmp(name, "load_extension") != 0 && sqlite3_stricmp(name, "fts3_tokenizer") != 0;
}

/// What is not on this list is refused, actions of later SQLite versions too.
int authorize(void*, int action, const char*, const char* second, const char*, const char*) {
  switch (action) {
    case SQLITE_SELECT:
    case SQLITE_READ:
    case SQLITE_RECURSIVE:
      return SQLITE_OK;
    case SQLITE_FUNCTION:
      return is_harmless_function(second) ? SQLITE_OK : SQLITE_DENY;
    default:
      return SQLITE_DENY;
  }
}

constexpr int kLongestValue = 16 << 20;
constexpr std::pair<int, int> kLimits[] = {
    {SQLITE_LIMIT_LENGTH, kLongestValue}, {SQLITE_LIMIT_SQL_LENGTH, 1 << 20},
    {SQLITE_LIMIT_COLUMN, 500},           {SQLITE_LIMIT_EXPR_DEPTH, 200},
    {SQLITE_LIMIT_COMPOUND_SELECT, 100},  {SQLITE_LIMIT_FUNCTION_ARG, 100},
    {SQLITE_LIMIT_ATTACHED, 0},           {SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 1000},
    {SQLITE_LIMIT_VARIABLE_NUMBER, 1000}, {SQLITE_LIMIT_TRIGGER_DEPTH, 1},
    {SQLITE_LIMIT_WORKER_THREADS, 0},
};

std::chrono::nanoseconds processor_time() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
}

// Some microseconds, or where each handles a value of the greatest length some tenths of a second.
constexpr int kOperationsBetweenChecks = 200;

constexpr std::int64_t kMostWork = 100'000'000;  // some tenths of a second
constexpr unsigned kJsonSubtype = 'J';           // by which SQLite's JSON functions know each other's results

std::int64_t length(sqlite3_value* value) {
  constexpr int kNumber = 32;
  const int type = sqlite3_value_type(value);
  return type == SQLITE_TEXT || type == SQLITE_BLOB ? sqlite3_value_bytes(value) : kNumber;
}

/// Every place of one text against every place of another.
std::int64_t product(int, sqlite3_value** values) {
  return length(values[0]) * length(values[1]);
}

/// printf pads character by character, also what is then too long to be a value: all widths and precisions
/// that its format names, or takes from the arguments.
std::int64_t padding(int count, sqlite3_value** values) {
  constexpr std::int64_t kCharacter = 4, kEnough = kMostWork;
  std::int64_t total = 0, number = 0;
  bool takes_arguments = false;
  const auto* format = count > 0 ? reinterpret_cast<const char*>(sqlite3_value_text(values[0])) : nullptr;
  for (; format != nullptr && *format != '\0' && total < kEnough; ++format) {
    const bool digit = *format >= '0' && *format <= '9';
    number = digit ? std::min(10 * number + (*format - '0'), kEnough) : 0;
    total += number;
    takes_arguments = takes_arguments || *format == '*';
  }
  for (int i = 1; takes_arguments && i < count && total < kEnough; ++i) {
    const auto width = sqlite3_value_int64(values[i]);
    total += width < -kEnough || width > kEnough ? kEnough : std::abs(width);
  }
  return kCharacter * total;
}

struct Builtin {
  const char* name;
  int arguments;  ///< -1: any number
  std::int64_t (*work)(int count, sqlite3_value** values);
};
constexpr Builtin kBuiltins[] = {{"instr", 2, product},   {"trim", 2, product},    {"ltrim", 2, product},
                                 {"rtrim", 2, product},   {"replace", 3, product}, {"like", 2, product},
                                 {"like", 3, product},    {"glob", 2, product},    {"json_patch", 2, product},
                                 {"printf", -1, padding}, {"format", -1, padding}};

}  // namespace

struct BoundedFunctions::Function {
  const BoundedFunctions* owner;
  Builtin builtin;
  std::map<int, sqlite3_stmt*> originals = {};  ///< by number of arguments

  static void call(sqlite3_context* context, int count, sqlite3_value** values);
  void answer(sqlite3_context* context, int count, sqlite3_value** values);
};

void BoundedFunctions::Function::call(sqlite3_context* context, int count, sqlite3_value** values) {
  auto& function = *static_cast<Function*>(sqlite3_user_data(context));
  if (function.owner->expired_()) return sqlite3_interrupt(function.owner->db_);
  if (function.builtin.work(count, values) > kMostWork) {
    const auto message = fmt::format("the arguments of {} are too long", function.builtin.name);
    return sqlite3_result_error(context, message.c_str(), -1);
  }
  function.answer(context, count, values);
}

void BoundedFunctions::Function::answer(sqlite3_context* context, int count, sqlite3_value** values) {
  auto& original = originals[count];
  if (original == nullptr) {
    const std::vector<const char*> parameters(static_cast<std::size_t>(count), "?");
    const auto sql = fmt::format("SELECT {}({})", builtin.name, fmt::join(parameters, ", "));
    sqlite3_prepare_v2(owner->own_, sql.c_str(), -1, &original, nullptr);
  }
  if (original == nullptr) return sqlite3_result_error(context, sqlite3_errmsg(owner->own_), -1);
  for (int i = 0; i < count; ++i) sqlite3_bind_value(original, i + 1, values[i]);
  if (sqlite3_step(original) == SQLITE_ROW) {
    sqlite3_result_value(context, sqlite3_column_value(original, 0));
    if (builtin.name == std::string_view("json_patch")) sqlite3_result_subtype(context, kJsonSubtype);
  } else {
    sqlite3_result_error(context, sqlite3_errmsg(owner->own_), -1);
  }
  sqlite3_reset(original);
  sqlite3_clear_bindings(original);
}

BoundedFunctions::BoundedFunctions(sqlite3* db, int length_limit, std::function<bool()> expired)
    : db_(db), expired_(std::move(expired)) {
  sqlite3_open_v2(":memory:", &own_, SQLITE_OPEN_READWRITE, nullptr);
  sqlite3_limit(own_, SQLITE_LIMIT_LENGTH, length_limit);
  for (const auto& builtin : kBuiltins) functions_.push_back({.owner = this, .builtin = builtin});
  for (auto& function : functions_) {
    sqlite3_create_function_v2(db, function.builtin.name, function.builtin.arguments,
                               SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS, &function,
                               Function::call, nullptr, nullptr, nullptr);
  }
}

BoundedFunctions::~BoundedFunctions() {
  for (auto& function : functions_) {
    sqlite3_create_function_v2(db_, function.builtin.name, function.builtin.arguments, SQLITE_UTF8, nullptr,
                               nullptr, nullptr, nullptr, nullptr);
    for (auto& [count, original] : function.originals) sqlite3_finalize(original);
  }
  sqlite3_close(own_);
}

SqlGuard::SqlGuard(sqlite3* db, std::chrono::milliseconds time_limit, std::size_t max_bytes)
    : db_(db),
      max_bytes_(max_bytes),
      deadline_(processor_time() + time_limit),
      previous_heap_limit_(sqlite3_hard_heap_limit64(static_cast<sqlite3_int64>(max_bytes))),
      functions_(db, kLongestValue, [this] { return expired(); }) {
  sqlite3_exec(db_, "PRAGMA query_only = ON; PRAGMA temp_store = MEMORY", nullptr, nullptr, nullptr);
  for (const auto& [limit, value] : kLimits) sqlite3_limit(db_, limit, value);
  const auto stop = [](void* guard) { return static_cast<SqlGuard*>(guard)->expired() ? 1 : 0; };
  sqlite3_progress_handler(db_, kOperationsBetweenChecks, stop, this);
  // These declare themselves as tables when they are first used, which the authorizer would refuse.
  sqlite3_exec(db_, "SELECT 1 FROM json_each('[]'), json_tree('[]')", nullptr, nullptr, nullptr);
  sqlite3_set_authorizer(db_, authorize, nullptr);
}

bool SqlGuard::expired() const {
  return processor_time() >= deadline_;
}

void SqlGuard::rows_take(std::size_t bytes) {
  const auto left = max_bytes_ - std::min(bytes, max_bytes_ - 1);  // 0 would be no limit
  sqlite3_hard_heap_limit64(static_cast<sqlite3_int64>(left));
}

SqlGuard::~SqlGuard() {
  sqlite3_set_authorizer(db_, nullptr, nullptr);
  sqlite3_progress_handler(db_, 0, nullptr, nullptr);
  sqlite3_hard_heap_limit64(previous_heap_limit_);
}

}  // namespace harness
