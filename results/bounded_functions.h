#pragma once

#include <functional>
#include <memory>

struct sqlite3;

namespace harness {

/// SQLite asks nobody while a single function runs, and some take time as the product of their arguments'
/// lengths: with texts of a few megabytes, hours. While this object lives, those of `db` refuse arguments
/// whose product is above 10^8 bytes^2, printf one that may be a width above 10^6, and interrupt the
/// statement where `expired` says so. Everything else is the built-in function's own answer, computed by it
/// on a connection of its own.
class BoundedFunctions {
 public:
  /// `length_limit`: bytes of the longest value.
  BoundedFunctions(sqlite3* db, int length_limit, std::function<bool()> expired);
  ~BoundedFunctions();
  BoundedFunctions(const BoundedFunctions&) = delete;
  BoundedFunctions& operator=(const BoundedFunctions&) = delete;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace harness
