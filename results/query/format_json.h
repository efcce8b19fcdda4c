#pragma once

#include <string>
#include <vector>

#include "results/query/format_cells.h"

namespace harness {

/// Rows as compact JSON objects, keys in the order of the columns.
class JsonRows {
 public:
  /// Throws Error for what JSON cannot say: two columns of one name, an infinite number, a text that is not
  /// UTF-8.
  explicit JsonRows(const ResultSet& rows);

  void write(std::size_t row, PieceWriter& out) const;

 private:
  const ResultSet& rows_;
  std::vector<std::string> keys_;  ///< as they stand before a value: `"name":`
};

}  // namespace harness
