#pragma once

#include <cstdio>

namespace harness {

bool is_terminal(std::FILE* out);

/// A terminal that can rewrite its lines; not one that calls itself dumb, as editors' do.
bool can_rewrite(std::FILE* out);

/// can_rewrite, and NO_COLOR is not set.
bool has_colours(std::FILE* out);

/// Columns of the terminal that `out` is; of any other file, and of a terminal that does not know, $COLUMNS,
/// else 80.
int terminal_columns(std::FILE* out);

/// Rows likewise: $LINES, else 24.
int terminal_rows(std::FILE* out);

}  // namespace harness
