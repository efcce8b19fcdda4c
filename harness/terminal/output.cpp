#include "harness/terminal/output.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <numeric>

#include "core/error.h"
#include "core/streams.h"
#include "core/text.h"
#include "harness/terminal/width.h"

namespace harness {
namespace {

constexpr int kBetween = 2;        ///< blanks between two columns
constexpr int kLeastRoom = 24;     ///< of a last column that goes on beneath itself
constexpr int kWidestColumn = 60;  ///< a longer cell moves its own line and no other

std::string cell_text(const Json& row, const std::string& column) {
  const auto found = row.find(column);
  if (found == row.end() || found->is_null()) return {};
  if (found->is_array()) {
    std::vector<std::string> parts;
    for (const auto& item : *found) parts.push_back(item.is_string() ? item.get<std::string>() : item.dump());
    return join(parts, ", ");
  }
  return found->is_string() ? found->get<std::string>() : found->dump();
}

}  // namespace

void print_json(const Json& document) {
  put("{}\n", document.dump(2, ' ', false, Json::error_handler_t::replace));
}

void print_rows(const std::vector<Json>& rows, const std::vector<std::string>& columns,
                const std::map<std::string, ColumnText>& texts) {
  const auto text_of = [&](const std::string& column) {
    const auto found = texts.find(column);
    ColumnText text = found == texts.end() ? ColumnText{} : found->second;
    if (text.heading.empty()) text.heading = column;
    return text;
  };
  const auto shown = [&](const Json& row, const std::string& column) {
    const auto text = cell_text(row, column);
    const auto how = text_of(column);
    if (text.empty()) return how.blank;
    return how.made == nullptr ? text : how.made(text);
  };
  std::vector<int> widths;
  for (const auto& column : columns) {
    int width = display_width(text_of(column).heading);
    for (const auto& row : rows) {
      const int needed = display_width(shown(row, column));
      if (needed <= kWidestColumn) width = std::max(width, needed);
    }
    widths.push_back(width);
  }
  const int indent =
      std::accumulate(widths.begin(), widths.end() - 1, 0) + kBetween * (std::ssize(widths) - 1);
  // On a terminal a long last column goes on beneath itself.
  const int room = is_terminal(stdout) ? terminal_columns(stdout) - indent : 0;
  const auto print_line = [&](const auto& cell) {
    std::string line;
    for (std::size_t i = 0; i + 1 < columns.size(); ++i)
      line += padded(cell(columns[i]), widths[i]) + std::string(kBetween, ' ');
    const std::string last = cell(columns.back());
    const bool breaks = room >= kLeastRoom && display_width(last) > room && display_width(line) <= indent;
    line +=
        breaks ? join(filled(last, room), "\n" + std::string(static_cast<std::size_t>(indent), ' ')) : last;
    line.erase(line.find_last_not_of(' ') + 1);
    put("{}\n", line);
  };
  print_line([&](const std::string& column) { return text_of(column).heading; });
  for (const auto& row : rows) {
    print_line([&](const std::string& column) { return shown(row, column); });
  }
}

int print_answer(bool json, const Json& document, const std::function<void()>& words, int status) {
  json ? print_json(document) : words();
  return status;
}

int print_list(bool json, const std::vector<Json>& rows, const std::vector<std::string>& columns,
               const std::map<std::string, ColumnText>& texts) {
  return print_answer(json, rows, [&] { print_rows(rows, columns, texts); });
}

void require_choice(const std::string& value, const std::vector<std::string>& known, const std::string& noun,
                    const std::string& where) {
  if (std::find(known.begin(), known.end(), value) != known.end()) return;
  throw Error(fmt::format("unknown {} \"{}\"", noun, value), where, suggestion(value, known));
}

}  // namespace harness
