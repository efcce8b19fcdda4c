#include <fmt/format.h>

#include <algorithm>

#include "core/text.h"
#include "results/table/table_view.h"

namespace harness {
namespace {

/// A cell cannot hold a bar or a line break.
std::string escape(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '|') out += '\\';
    out += c == '\n' || c == '\r' ? ' ' : c;
  }
  return out;
}

std::string cell_text(const ViewCell& cell) {
  auto text = escape(cell.text);
  if (cell.strong) text = fmt::format("**{}**", text);
  return cell.marks.empty() ? text : fmt::format("{} {}", text, cell.marks);
}

std::string padded(const std::string& text, int width, bool right) {
  const std::string space(static_cast<std::size_t>(std::max(0, width - display_width(text))), ' ');
  return right ? space + text : text + space;
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
  std::string head = "|", line = "|", body;
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    const auto& column = table.columns[i];
    head += fmt::format(" {} |", padded(escape(column.title), widths[i], column.numeric));
    line += rule(widths[i], column.numeric) + "|";
  }
  for (const auto& row : table.rows) {
    body += "|";
    for (std::size_t i = 0; i < row.cells.size(); ++i) {
      body += fmt::format(" {} |", padded(cell_text(row.cells[i]), widths[i], table.columns[i].numeric));
    }
    body += "\n";
  }
  return head + "\n" + line + "\n" + body;
}

std::string note_list(const std::vector<std::string>& notes) {
  std::string out = notes.empty() ? "" : "\n";
  for (const auto& note : notes) out += fmt::format("- {}\n", note);
  return out;
}

/// Alarms stand at the top, where nobody overlooks them; the panel stands below the table.
std::string alarm_quotes(const GuardrailView& guardrails) {
  std::string out;
  for (const auto& alarm : guardrails.alarms) out += fmt::format("> **{}**\n\n", alarm);
  return out;
}

std::string guardrail_panel_markdown(const GuardrailView& guardrails) {
  if (guardrails.empty()) return {};
  std::string out = "\n### Guardrails\n";
  for (const auto& table : guardrails.tables) out += fmt::format("\n{}", layout(table));
  auto words = guardrails.words;
  words.push_back(guardrails.legend);
  return out + note_list(words);
}

}  // namespace

std::string comparisons_markdown(const TableModel& model) {
  const auto view = table_view(model);
  return printable(layout(view.comparisons) + note_list(view.difference_notes));
}

std::string table_markdown(const TableModel& model) {
  const auto view = table_view(model);
  auto out = fmt::format("## {}\n\n{}\n\n", view.heading, view.subtitle);
  if (!view.warning.empty()) out += fmt::format("> **{}**\n\n", view.warning);
  out += alarm_quotes(view.guardrails) + layout(view.results);
  if (!view.comparisons.rows.empty()) out += fmt::format("\n{}", layout(view.comparisons));
  if (!view.claims.rows.empty()) out += fmt::format("\n{}", layout(view.claims));
  if (!view.yardstick.rows.empty()) out += fmt::format("\n{}", layout(view.yardstick));
  out += note_list(table_notes(model));
  out += guardrail_panel_markdown(view.guardrails);
  if (!view.signature.empty()) out += fmt::format("\nSignature: `{}`\n", view.signature);
  return printable(out);
}

namespace {
const bool kRegistered = register_table_format(
    {.name = "md", .file = "table.md", .place = 1, .is_read = true, .render = table_markdown});
}  // namespace

}  // namespace harness
