#pragma once

#include <string>
#include <string_view>

#include "results/query.h"

namespace harness {

/// A value for reading: numbers with six digits, NULL as nothing, a BLOB in hexadecimal digits.
std::string short_text(const SqlValue& value);

/// A value without loss: shortest digits that read back as the same number.
std::string exact_text(const SqlValue& value);

/// True if all values of a column are numbers or NULL: such a column is aligned right.
bool is_numeric_column(const ResultSet& rows, std::size_t column);

/// Escapes what would break a line or command a terminal: \n, \t, \xNN.
std::string printable(std::string_view text);

/// Pads with blanks to `width` terminal columns.
std::string padded(const std::string& text, int width, bool right);

}  // namespace harness
