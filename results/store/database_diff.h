#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "results/store/store.h"

namespace harness {

/// How far each job's event log is in the DB: job id -> bytes.
std::map<std::string, std::uint64_t> log_ends(Store& store);

/// Rows of a table that belong to a job. SQL over its columns; ?1: the job's id.
struct RowsOfJob {
  const char* table;
  const char* rows;    ///< which of them are compared
  const char* name;    ///< what the row is called, and no other of the job
  const char* values;  ///< what is compared
};

using RowValues = std::vector<std::pair<std::string, std::string>>;  ///< column and value, in order

/// A row that two DBs do not hold alike.
struct DifferentRow {
  std::string name = {};
  RowValues here = {}, other = {};  ///< empty: there is no such row
};

/// Two DBs side by side. Rows are compared by content: integer ids, which mean something in their own
/// DB only, and `created` and `finished` of runs, evaluations and selections are left out.
class RowDiff {
 public:
  /// `store` must be open for reading only; `other` is a file.
  RowDiff(Store& store, const std::filesystem::path& other);
  ~RowDiff();
  RowDiff(const RowDiff&) = delete;
  RowDiff& operator=(const RowDiff&) = delete;

  /// Rows that only one of the two holds, one line a table and side: how many, and the first.
  std::vector<std::string> summary(const std::string& name_of_other);

  std::vector<DifferentRow> rows(const RowsOfJob& of, const std::string& id);

 private:
  Store& store_;
};

}  // namespace harness
