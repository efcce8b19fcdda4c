#pragma once

#include <functional>
#include <vector>

struct sqlite3;

namespace harness {

/// SQLite asks nobody while a single function runs, and some can take minutes or hours: those that hold every
/// place of one text against every place of another, and printf, which pads by any width. While this object
/// lives, those of `db` refuse arguments that would take more than some tenths of a second, and interrupt the
/// statement where `expired` says so. Everything else is the built-in function's own answer, computed by it
/// on a connection of its own. Afterwards `db` is without these functions.
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

}  // namespace harness
