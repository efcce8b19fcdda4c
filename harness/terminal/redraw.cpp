#include "harness/terminal/redraw.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <utility>
#include <vector>

#include "core/streams.h"
#include "core/text.h"
#include "harness/terminal/width.h"

namespace harness {

void Redraw::show(const std::string& block) {
  if (can_rewrite(stdout)) {
    replace(block);
  } else {
    if (std::exchange(shown_, 1) > 0) put_text("\n");
    put_text(block);
  }
  finish_output();
}

void Redraw::replace(const std::string& block) {
  auto lines = split(block, '\n');
  if (!lines.empty() && lines.back().empty()) lines.pop_back();
  // The cursor stands on a line of its own below them, and cannot go up beyond the first row.
  const auto most = static_cast<std::size_t>(std::max(1, terminal_rows(stdout) - 1));
  if (lines.size() > most) {
    const auto left = lines.size() - most + 1;
    lines.resize(most);
    lines.back() = fmt::format("... and {} more lines", left);
  }
  std::string text = shown_ > 0 ? fmt::format("\x1b[{}A\r", shown_) : "\r";
  for (const auto& line : lines) {
    const auto shown = printable_line(beginning_within(line, terminal_columns(stdout) - 1));
    text += "\x1b[2K" + shown + "\n";
  }
  put_exactly(text + "\x1b[J");
  shown_ = static_cast<int>(lines.size());
}

}  // namespace harness
