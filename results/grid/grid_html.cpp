#include <fmt/format.h>

#include "results/grid/grid.h"
#include "results/table/markup.h"

namespace harness {
namespace {

constexpr const char* kStyle =
    ":root{color-scheme:light dark;--page:#fff;--ink:#1c1c1c;--grey:#666;--line:#bbb;--bad:#b3261e;--mark:#fbdcd8}\n"
    "@media screen and (prefers-color-scheme:dark){:root{--page:#14171b;--ink:#e6e9ec;--grey:#9aa4ae;--line:#363d45;"
    "--bad:#ff9a90;--mark:#5a2420}}\n"
    "body{font:15px/1.4 \"DejaVu Sans\",Verdana,sans-serif;color:var(--ink);background:var(--page);margin:2rem}\n"
    "h1{font-size:1.25rem}h2{font-size:1.05rem;margin:1.6rem 0 .4rem}h2 "
    "small{color:var(--grey);font-weight:400}\n"
    ".rows{overflow-x:auto}table{border-collapse:collapse}\n"
    "th{text-align:left;font-weight:600;padding:.2rem .6rem}\n"
    "th small,.method small{display:block;color:var(--grey);font-weight:400}\n"
    "td{padding:.5rem .6rem;vertical-align:top}.method{display:none}\n"
    ".prompt{width:17rem;min-width:14rem}.prompt b{display:block;overflow-wrap:anywhere}\n"
    ".prompt span{color:var(--grey);font-size:.8rem;overflow-wrap:anywhere}\n"
    "img{width:288px;max-width:calc((100vw - 21rem)/var(--columns) - 1.4rem);min-width:96px;height:auto;display:block;border:1px solid "
    "var(--line)}.small{image-rendering:pixelated}\n"
    ".read{display:flex;gap:.6rem;justify-content:space-between;max-width:288px;font-size:.9rem}\n"
    ".read span:first-child{overflow-wrap:anywhere}\n"
    ".wrong,.missing{color:var(--bad);background:var(--mark)}.none{color:var(--bad);font-style:italic}\n"
    ".caption{max-width:60rem}code{font-size:.75rem;overflow-wrap:anywhere}\n"
    "@media (max-width:56rem){body{margin:1rem}table,tbody{display:block}.head{display:none}\n"
    ".row{display:grid;grid-template-columns:repeat(2,minmax(0,1fr));gap:.8rem;padding:.8rem 0;border-top:1px solid "
    "var(--line)}\n"
    "td{display:block;padding:0}.prompt{grid-column:1/-1;width:auto}.method{display:block;font-size:.85rem}\n"
    "img{width:100%;max-width:none}.read{max-width:none}}\n"
    "@media print{body{margin:0}.rows{overflow:visible}.row{break-inside:avoid}h2{break-after:avoid}"
    ".wrong,.missing{print-color-adjust:exact}}\n";

/// Of an image that is shown larger than it is, as pixels.
constexpr int kSmallSide = 200;

constexpr TranscriptMarks kMarks{.escaped = html_text,
                                 .whole = "<span>{}</span>",
                                 .wrong = "<span class=\"wrong\">{}</span>",
                                 .missing = "<span class=\"missing\" title=\"missing: {}\">\u2038</span>",
                                 .failed = "<span class=\"none\">{}</span>"};

std::string name_html(const GridColumn& column) {
  return fmt::format("{}<small>{}</small>", html_text(column.title), html_text(column.subtitle));
}

std::string cell_html(const Grid& grid, const GridRow& row, std::size_t column,
                      const GridPictures& pictures) {
  const auto& cell = row.cells[column];
  const auto picture = pictures(cell);
  return fmt::format(
      "<td><div class=\"method\">{}</div><img src=\"{}\" width=\"{}\" height=\"{}\"{} alt=\"{}\">"
      "<div class=\"read\">{}<span>{}</span></div></td>",
      name_html(grid.columns[column]), picture.uri, picture.width, picture.height,
      picture.width < kSmallSide ? " class=\"small\"" : "", html_text(row.target),
      text_beneath(cell, row, kMarks),
      cell.score ? fmt::format("{:.{}f}", *cell.score, grid.score_decimals) : "\u2014");
}

std::string group_head(const Grid& grid, GridGroup group) {
  const auto [title, rule] = grid_group_text(group, grid);
  auto out = fmt::format(
      "<h2>{} <small>{}</small></h2>\n<div class=\"rows\" style=\"--columns:{}\"><table>\n"
      "<tr class=\"head\"><th>Prompt</th>",
      title, html_text(rule), grid.columns.size());
  for (const auto& column : grid.columns) out += fmt::format("<th>{}</th>", name_html(column));
  return out + "</tr>\n";
}

}  // namespace

std::string grid_html(const Grid& grid, const GridPictures& pictures) {
  auto body = fmt::format("<h1>{}</h1>\n", html_text(grid.title));
  std::optional<GridGroup> group;
  for (const auto& row : grid.rows) {
    if (group != row.group) {
      if (group) body += "</table></div>\n";
      group = row.group;
      body += group_head(grid, row.group);
    }
    body += fmt::format("<tr class=\"row\"><td class=\"prompt\"><b>{}</b><span>#{} {}</span></td>",
                        html_text(row.target), row.position, html_text(row.prompt));
    for (std::size_t i = 0; i < row.cells.size(); ++i) body += cell_html(grid, row, i, pictures);
    body += "</tr>\n";
  }
  if (group) body += "</table></div>\n";
  body += fmt::format("<p class=\"caption\">{}</p>\n<p>Signature: <code>{}</code></p>\n",
                      html_text(grid_caption(grid)), html_text(grid.signature));
  return html_page(grid.title, kStyle, body);
}

}  // namespace harness
