#include "harness/terminal/width.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <string_view>

namespace harness {
namespace {

constexpr int kColumns = 80, kRows = 24;
constexpr int kFewestColumns = 20, kFewestRows = 3;  ///< fewer are no size but a terminal that has none

int from_environment(const char* name, int least, int otherwise) {
  const char* text = std::getenv(name);
  const int value = text == nullptr ? 0 : std::atoi(text);
  return value >= least ? value : otherwise;
}

winsize size_of(std::FILE* out) {
  winsize size{};
  if (::ioctl(::fileno(out), TIOCGWINSZ, &size) != 0) return {};
  return size;
}

}  // namespace

bool is_terminal(std::FILE* out) {
  return ::isatty(::fileno(out)) == 1;
}

bool can_rewrite(std::FILE* out) {
  const char* kind = std::getenv("TERM");
  return is_terminal(out) && (kind == nullptr || std::string_view(kind) != "dumb");
}

bool has_colours(std::FILE* out) {
  const char* none = std::getenv("NO_COLOR");
  return can_rewrite(out) && (none == nullptr || *none == '\0');
}

int terminal_columns(std::FILE* out) {
  const int columns = size_of(out).ws_col;
  return columns >= kFewestColumns ? columns : from_environment("COLUMNS", kFewestColumns, kColumns);
}

int terminal_rows(std::FILE* out) {
  const int rows = size_of(out).ws_row;
  return rows >= kFewestRows ? rows : from_environment("LINES", kFewestRows, kRows);
}

}  // namespace harness
