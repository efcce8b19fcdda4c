#include "results/query/sql_guard.h"

#include <sqlite3.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace harness {
namespace {

bool is_harmless_function(const char* name) {
  constexpr std::array<std::string_view, 2> kRefused = {"load_extension", "fts3_tokenizer"};
  for (const auto refused : kRefused) {
    if (name != nullptr && sqlite3_stricmp(name, refused.data()) == 0) return false;
  }
  return true;
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

}  // namespace

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
