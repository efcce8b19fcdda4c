#include <fmt/format.h>

#include <algorithm>

#include "core/text.h"
#include "results/table/markup.h"
#include "results/table/table_view.h"

namespace harness {
namespace {

/// A cell cannot hold a line break.
std::string escape(std::string text) {
  std::ranges::replace_if(
      text, [](char c) { return c == '\n' || c == '\r'; }, ' ');
  return markdown_text(text);
}

std::string cell_text(const ViewCell& cell) {
  auto text = escape(cell.text);
  if (cell.strong) text = fmt::format("**{}**", text);
  return cell.marks.empty() ? text : fmt::format("{} {}", text, cell.marks);
}

std::string rule(int width, bool right) {
  const auto dashes = std::string(static_cast<std::size_t>(width + 1), '-');
  return fmt::format(fmt::runtime(right ? "{}:" : ":{}"), dashes);
}

std::string layout(const ViewTable& table) {
  std::vector<int> widths;
  for (const auto& column : table.columns) widths.push_back(std::max(3, display_width(escape(column.title))));
  for (const auto& row : table.rows) {
    for (std::size_t i = 0; i < row.cells.size(); ++i) {
      widths[i] = std::max(widths[i], display_width(cell_text(row.cells[i])));
    }
  }
  std::vector<std::string> head;
  std::string line = "|", body;
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    const auto& column = table.columns[i];
    head.push_back(padded(escape(column.title), widths[i], column.numeric));
    line += rule(widths[i], column.numeric) + "|";
  }
  for (const auto& row : table.rows) {
    std::vector<std::string> cells;
    for (std::size_t i = 0; i < row.cells.size(); ++i)
      cells.push_back(padded(cell_text(row.cells[i]), widths[i], table.columns[i].numeric));
    body += markdown_row(cells);
  }
  return markdown_row(head) + line + "\n" + body;
}

std::string note_list(const std::vector<std::string>& notes) {
  std::string out = notes.empty() ? "" : "\n";
  for (const auto& note : notes) out += fmt::format("- {}\n", markdown_prose(note));
  return out;
}

}  // namespace

std::string table_markdown(const TableModel& model) {
  const auto view = table_view(model);
  auto out = fmt::format("## {}\n\n{}\n\n", markdown_prose(view.heading), markdown_prose(view.subtitle));
  if (!view.warning.empty()) out += fmt::format("> **{}**\n\n", markdown_prose(view.warning));
  for (const auto& alarm : view.guardrails.alarms) out += fmt::format("> **{}**\n\n", markdown_prose(alarm));
  bool is_first = true;
  for (const auto& [part, table] : main_parts(view)) {
    if (!shows_part(model, part) || (table->rows.empty() && part != "results")) continue;
    out += (is_first ? "" : "\n") + layout(*table);
    is_first = false;
  }
  out += note_list(shown_notes(model, view));
  if (shows_part(model, "guardrails")) {
    if (!view.guardrails.tables.empty()) out += "\n### Guardrails\n";
    for (const auto& [_, table] : view.guardrails.tables) out += "\n" + layout(table);
    out += note_list(view.notes_at({NotePlace::kGuardrails}));
  }
  if (!view.signature.empty()) out += fmt::format("\nSignature: {}\n", markdown_code(view.signature));
  return printable(out);
}

namespace {
const bool kRegistered = register_table_format({.name = "md",
                                                .file = "table.md",
                                                .place = 1,
                                                .takes_parts = true,
                                                .is_read = true,
                                                .render = table_markdown});
}  // namespace

}  // namespace harness
