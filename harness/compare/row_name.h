#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace harness {

/// What rows of the database of --with begin with.
inline constexpr const char* kWithPlace = "with";

/// A row as it is typed: ROW, EXPERIMENT:ROW, PLACE:ROW or PLACE:EXPERIMENT:ROW.
struct RowName {
  std::string text;        ///< as typed
  std::string place = {};  ///< kWithPlace, or a folder or file that is there; empty: the command's workspace
  std::optional<std::int64_t> experiment = {};
  std::string row = {};

  /// A row of whichever experiment the other options choose.
  bool is_plain() const { return place.empty() && !experiment; }
};

/// What stands before the first colon is a number, "with", a path with a slash, or what is there under that
/// name; else the whole text is a row. Throws Error where no row follows.
RowName read_row_name(const std::string& text);

}  // namespace harness
