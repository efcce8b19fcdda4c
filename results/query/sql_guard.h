#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <vector>

struct sqlite3;

namespace harness {

/// SQLite has no interrupt while a single function runs, and some can take hours: those that hold every place
/// of one text against every place of another, and printf, which pads by any width. While this object lives,
/// those of `db` refuse arguments that would take more than some tenths of a second, and interrupt the
/// statement where `expired` says so. Else a connection of their own gives the built-in function's answer.
class BoundedFunctions {
 public:
  /// `length_limit`: bytes of the longest value.
  BoundedFunctions(sqlite3* db, int length_limit, std::function<bool()> expired);
  ~BoundedFunctions();
  BoundedFunctions(const BoundedFunctions&) = delete;
  BoundedFunctions& operator=(const BoundedFunctions&) = delete;

 private:
  struct Function;
  sqlite3 *db_, *own_ = nullptr;
  std::function<bool()> expired_;
  std::vector<Function> functions_;
};

/// While it lives, a connection reads and does nothing else: an authorizer allows SELECT, columns, recursion
/// and harmless functions alone; lengths of values, statements, patterns and expressions are limited; sorting
/// stays in memory, of which SQLite gets `max_bytes` less what the rows take; a statement stops after
/// `time_limit` of processor time, which a busy machine does not shorten. The memory limit is SQLite's own,
/// one for the process: one guard at a time.
class SqlGuard {
 public:
  SqlGuard(sqlite3* db, std::chrono::milliseconds time_limit, std::size_t max_bytes);
  ~SqlGuard();
  SqlGuard(const SqlGuard&) = delete;
  SqlGuard& operator=(const SqlGuard&) = delete;

  bool expired() const;

  /// Of `max_bytes`, so many are taken by the rows that the query has given so far.
  void rows_take(std::size_t bytes);

 private:
  sqlite3* db_;
  std::size_t max_bytes_;
  std::chrono::nanoseconds deadline_;  ///< on this thread's clock of processor time
  long long previous_heap_limit_;
  BoundedFunctions functions_;
};

}  // namespace harness
