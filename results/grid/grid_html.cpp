#include <fmt/format.h>

#include "results/grid/grid.h"
#include "results/table/markup.h"

namespace harness {
namespace {

/// Of an image that is shown larger than it is, as pixels.
constexpr int kSmallSide = 200;

constexpr TranscriptMarks kHtmlMarks{.escaped = html_text,
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
      picture.width < kSmallSide ? " class=\"small\"" : "", html_text(row.prompt.target.shown()),
      text_beneath(cell, row, kHtmlMarks),
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
    body +=
        fmt::format("<tr class=\"row\"><td class=\"prompt\"><b>{}</b><span>#{} {}</span></td>",
                    html_text(row.prompt.target.shown()), row.prompt.position, html_text(row.prompt.text));
    for (std::size_t i = 0; i < row.cells.size(); ++i) body += cell_html(grid, row, i, pictures);
    body += "</tr>\n";
  }
  if (group) body += "</table></div>\n";
  body += fmt::format("<p class=\"caption\">{}</p>\n<p>Signature: <code>{}</code></p>\n",
                      html_text(grid_caption(grid)), html_text(grid.signature));
  return html_page(grid.title, kGridStyle, body);
}

}  // namespace harness
