#include <fmt/format.h>

#include "results/table/markup.h"
#include "results/table/table_html.h"
#include "results/table/table_view.h"

namespace harness {
namespace {

constexpr const char* kStyle =
    "body{font:15px/1.45 \"DejaVu Sans\",Verdana,sans-serif;color:#1c1c1c;background:#fff;max-width:76rem;"
    "margin:2rem auto;padding:0 1rem}\n"
    ".warning{border-left:4px solid #8a6100;background:#fff4d6;padding:.5rem .8rem;font-weight:600}\n"
    ".alarm{border-left:4px solid #b3261e;background:#fbe9e7;padding:.5rem .8rem;font-weight:600}"
    "h2{font-size:1.05rem;margin:1.6rem 0 0}\n"
    "h1{font-size:1.25rem;margin-bottom:.2rem}.sub{color:#555;margin-top:0}\n"
    ".scroll{overflow-x:auto}\n"
    "table{border-collapse:collapse;border-top:2px solid #222;border-bottom:2px solid #222;margin:1.2rem 0}\n"
    "th{border-bottom:1px solid #222;font-weight:600;text-align:left}\n"
    "th,td{padding:.25rem .7rem;white-space:nowrap}\n"
    ".num{text-align:right;font-variant-numeric:tabular-nums}\n"
    "tr.reference td{border-bottom:1px solid #ccc}tr.paper td{color:#666;font-style:italic}\n"
    "ul{font-size:.85rem;color:#333;padding-left:1.1rem}code{font-size:.75rem;overflow-wrap:anywhere}\n";

const char* row_class(RowKind kind) {
  switch (kind) {
    case RowKind::kReference:
      return "reference";
    case RowKind::kPaper:
      return "paper";
    default:
      return "ours";
  }
}

std::string cell_html(const ViewCell& cell, bool numeric) {
  auto text = html_text(cell.text);
  if (cell.strong) text = "<strong>" + text + "</strong>";
  if (!cell.marks.empty()) text += "<sup>" + html_text(cell.marks) + "</sup>";
  return fmt::format("<td{}>{}</td>", numeric ? " class=\"num\"" : "", text);
}

}  // namespace

std::string view_table_html(const ViewTable& table) {
  std::string out = "<div class=\"scroll\" tabindex=\"0\"><table>\n<thead><tr>";
  for (const auto& column : table.columns) {
    out += fmt::format("<th{}>{}</th>", column.numeric ? " class=\"num\"" : "", html_text(column.title));
  }
  out += "</tr></thead>\n<tbody>\n";
  for (const auto& row : table.rows) {
    out += fmt::format("<tr class=\"{}\">", row_class(row.kind));
    for (std::size_t i = 0; i < row.cells.size(); ++i) {
      out += cell_html(row.cells[i], table.columns[i].numeric);
    }
    out += "</tr>\n";
  }
  return out + "</tbody>\n</table></div>\n";
}

std::string scale_warning_html(const TableModel& model) {
  if (model.scale_warning.empty()) return {};
  return "<p class=\"warning\">" + html_text(model.scale_warning) + "</p>\n";
}

std::string guardrail_alarms_html(const GuardrailView& guardrails) {
  std::string out;
  for (const auto& alarm : guardrails.alarms)
    out += "<p class=\"alarm\" role=\"alert\">" + html_text(alarm) + "</p>\n";
  return out;
}

std::string guardrail_panel_html(const GuardrailView& guardrails) {
  std::string out;
  for (const auto& table : guardrails.tables) out += view_table_html(table);
  if (out.empty()) return out;
  out += "<ul class=\"notes\">\n";
  for (const auto& sentence : guardrails.words) out += "<li>" + html_text(sentence) + "</li>\n";
  return out + "<li>" + html_text(guardrails.legend) + "</li>\n</ul>\n";
}

std::string table_html(const TableModel& model) {
  const auto view = table_view(model);
  auto body = fmt::format("<h1>{}</h1>\n<p class=\"sub\">{}</p>\n", html_text(view.heading),
                          html_text(view.subtitle));
  body += scale_warning_html(model);
  body += guardrail_alarms_html(view.guardrails);
  body += view_table_html(view.results);
  if (!view.comparisons.rows.empty()) body += view_table_html(view.comparisons);
  if (!view.claims.rows.empty()) body += view_table_html(view.claims);
  if (!view.yardstick.rows.empty()) body += view_table_html(view.yardstick);
  body += "<ul>\n";
  for (const auto& note : table_notes(model)) body += "<li>" + html_text(note) + "</li>\n";
  body += "</ul>\n";
  if (!view.guardrails.empty()) body += "<h2>Guardrails</h2>\n" + guardrail_panel_html(view.guardrails);
  if (!view.signature.empty()) body += "<p>Signature: <code>" + html_text(view.signature) + "</code></p>\n";
  return html_page(view.heading, kStyle, body);
}

namespace {
const bool kRegistered =
    register_table_format({.name = "html", .file = "table.html", .place = 5, .render = table_html});
}  // namespace

}  // namespace harness
