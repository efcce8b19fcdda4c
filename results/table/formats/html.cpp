#include <fmt/format.h>

#include <algorithm>
#include <boost/algorithm/string/replace.hpp>

#include "results/table/markup.h"
#include "results/table/notation.h"
#include "results/table/table_html.h"
#include "results/table/table_view.h"

namespace harness {
namespace {

constexpr const char* kStyle =
    "body{font:14px/1.4 \"DejaVu Sans\",Verdana,sans-serif;color:#1c1c1c;background:#fff;"
    "margin:2rem auto;padding:0 2rem;max-width:120rem}\n"
    ".warning{border-left:4px solid #8a6100;background:#fff4d6;padding:.5rem .8rem;font-weight:600}\n"
    ".alarm{border-left:4px solid #b3261e;background:#fbe9e7;padding:.5rem .8rem;font-weight:600}"
    "h2{font-size:1.05rem;margin:1.6rem 0 0}\n"
    "h1{font-size:1.25rem;margin-bottom:.2rem}.sub{color:#555;margin-top:0}\n"
    ".scroll{overflow-x:auto}\n"
    "table{border-collapse:collapse;border-top:2px solid #222;border-bottom:2px solid #222;margin:1.2rem 0}\n"
    "th{border-bottom:1px solid #222;font-weight:600;text-align:left}\n"
    "th,td{padding:.22rem .5rem;white-space:nowrap}\n"
    ".num{text-align:right;font-variant-numeric:tabular-nums}\n"
    "tr.reference td{border-bottom:1px solid #ccc}tr.paper td{color:#666;font-style:italic}\n"
    "ul{font-size:.85rem;color:#333;padding-left:1.1rem;max-width:90ch}code{font-size:.75rem;overflow-wrap:anywhere}\n";

/// "Lambda_late \u2193" as the field writes it; names of methods stay those that commands take.
std::string heading_of(std::string title) {
  boost::replace_all(title, "Lambda_late", "\u039b_{late}");
  return title;
}

std::string cell_html(const ViewCell& cell, bool numeric) {
  auto text = html_text(cell.text);
  if (cell.strong) text = "<strong>" + text + "</strong>";
  if (!cell.marks.empty()) text += "<sup>" + html_text(cell.marks) + "</sup>";
  return fmt::format("<td{}>{}</td>", numeric ? " class=\"num\"" : "", text);
}

std::string sheet_html(const ViewTable& table) {
  std::string out = "<div class=\"scroll\" tabindex=\"0\"><table>\n<thead><tr>";
  for (const auto& column : table.columns) {
    out += fmt::format("<th{}>{}</th>", column.numeric ? " class=\"num\"" : "",
                       html_notation(heading_of(column.title)));
  }
  out += "</tr></thead>\n<tbody>\n";
  for (const auto& row : table.rows) {
    constexpr const char* kClasses[] = {"reference", "ours", "paper"};  // in the order of RowKind
    out += fmt::format("<tr class=\"{}\">", kClasses[static_cast<int>(row.kind)]);
    for (std::size_t i = 0; i < row.cells.size(); ++i) {
      out += cell_html(row.cells[i], table.columns[i].numeric);
    }
    out += "</tr>\n";
  }
  return out + "</tbody>\n</table></div>\n";
}

}  // namespace

std::string view_table_html(const ViewTable& table) {
  const auto is_on_second = [](const ViewColumn& column) { return column.sheet == ViewSheet::kSecond; };
  if (std::ranges::none_of(table.columns, is_on_second)) return sheet_html(table);
  return sheet_html(sheet_of(table, ViewSheet::kFirst)) + sheet_html(sheet_of(table, ViewSheet::kSecond));
}

std::string warning_html(const TableView& view) {
  if (view.warning.empty()) return {};
  return "<p class=\"warning\">" + html_text(view.warning) + "</p>\n";
}

std::string heading_html(const TableView& view) {
  auto out = fmt::format("<h1>{}</h1>\n<p class=\"sub\">{}</p>\n", html_text(view.heading),
                         html_text(view.subtitle)) +
             warning_html(view);
  for (const auto& alarm : view.guardrails.alarms)
    out += "<p class=\"alarm\" role=\"alert\">" + html_text(alarm) + "</p>\n";
  return out;
}

std::string signature_html(const TableView& view) {
  if (view.signature.empty()) return {};
  return "<p>Signature: <code>" + html_text(view.signature) + "</code></p>\n";
}

std::string list_html(const std::vector<std::string>& items, const char* attributes) {
  auto out = fmt::format("<ul{}>\n", attributes);
  for (const auto& item : items) out += "<li>" + html_prose(item) + "</li>\n";
  return out + "</ul>\n";
}

std::string guardrail_panel_html(const TableView& view) {
  std::string out;
  for (const auto& [_, table] : view.guardrails.tables) out += view_table_html(table);
  return out.empty() ? out : out + list_html(view.notes_at({NotePlace::kGuardrails}), " class=\"notes\"");
}

std::string table_html(const TableModel& model) {
  const auto view = table_view(model);
  auto body = heading_html(view);
  for (const auto& [part, table] : main_parts(view)) {
    if (shows_part(model, part) && !table->rows.empty()) body += view_table_html(*table);
  }
  body += list_html(shown_notes(model, view), "");
  if (const auto panel = guardrail_panel_html(view); !panel.empty() && shows_part(model, "guardrails"))
    body += "<h2>Guardrails</h2>\n" + panel;
  body += signature_html(view);
  return html_page(view.heading, kStyle, body);
}

namespace {
const bool kRegistered = register_table_format(
    {.name = "html", .file = "table.html", .place = 5, .takes_parts = true, .render = table_html});
}  // namespace

}  // namespace harness
