#include <fmt/format.h>

#include "results/grid/grid.h"
#include "results/table/markup.h"

namespace harness {
namespace {

constexpr const char* kStyle =
    "body{font:15px/1.4 \"DejaVu Sans\",Verdana,sans-serif;color:#1c1c1c;background:#fff;margin:2rem}\n"
    "h1{font-size:1.25rem}h2{font-size:1.05rem;margin:1.6rem 0 .4rem}h2 small{color:#666;font-weight:400}\n"
    ".rows{overflow-x:auto}table{border-collapse:collapse}\n"
    "th{text-align:left;font-weight:600;padding:.2rem .6rem}th "
    "small{display:block;color:#666;font-weight:400}\n"
    "td{padding:.5rem .6rem;vertical-align:top}\n"
    ".prompt{width:17rem;min-width:14rem}.prompt b{display:block}.prompt span{color:#666;font-size:.8rem}\n"
    "img{width:288px;max-width:calc((100vw - 21rem)/var(--columns) - 1.4rem);min-width:96px;display:block;border:1px solid #bbb;image-rendering:pixelated}\n"
    ".read{display:flex;gap:.6rem;justify-content:space-between;max-width:288px;font-size:.9rem}\n"
    ".read span:first-child{overflow-wrap:anywhere}\n"
    ".wrong,.missing{color:#b3261e;background:#fbdcd8}.none{color:#b3261e;font-style:italic}\n"
    ".caption{max-width:60rem;color:#333}code{font-size:.75rem;overflow-wrap:anywhere}\n";

constexpr TranscriptMarks kMarks{.escaped = html_text,
                                 .whole = "<span>{}</span>",
                                 .wrong = "<span class=\"wrong\">{}</span>",
                                 .missing = "<span class=\"missing\" title=\"missing: {}\">\u2038</span>",
                                 .failed = "<span class=\"none\">{}</span>"};

std::string url_path(const std::filesystem::path& image, const std::filesystem::path& folder) {
  const auto relative = std::filesystem::proximate(image, folder).generic_string();
  std::string out;
  for (const unsigned char c : relative) {
    const bool plain =
        std::isalnum(c) || std::string_view("-._~/").find(static_cast<char>(c)) != std::string_view::npos;
    out += plain ? std::string(1, static_cast<char>(c)) : fmt::format("%{:02X}", c);
  }
  return out;
}

std::string cell_html(const Grid& grid, const GridCell& cell, const GridRow& row,
                      const std::filesystem::path& folder) {
  return fmt::format("<td><img src=\"{}\" alt=\"{}\"><div class=\"read\">{}<span>{}</span></div></td>",
                     url_path(cell.image, folder), html_text(row.target), text_beneath(cell, row, kMarks),
                     cell.score ? fmt::format("{:.{}f}", *cell.score, grid.score_decimals) : "\u2014");
}

std::string group_head(const Grid& grid, GridGroup group) {
  const auto [title, rule] = grid_group_text(group, grid);
  auto out = fmt::format(
      "<h2>{} <small>{}</small></h2>\n<div class=\"rows\" style=\"--columns:{}\"><table>\n"
      "<tr><th>Prompt</th>",
      title, html_text(rule), grid.columns.size());
  for (const auto& column : grid.columns) {
    out += fmt::format("<th>{}<small>{}</small></th>", html_text(column.title), html_text(column.subtitle));
  }
  return out + "</tr>\n";
}

}  // namespace

std::string grid_html(const Grid& grid, const std::filesystem::path& folder) {
  auto body = fmt::format("<h1>{}</h1>\n", html_text(grid.title));
  std::optional<GridGroup> group;
  for (const auto& row : grid.rows) {
    if (group != row.group) {
      if (group) body += "</table></div>\n";
      group = row.group;
      body += group_head(grid, row.group);
    }
    body += fmt::format("<tr><td class=\"prompt\"><b>{}</b><span>#{} {}</span></td>", html_text(row.target),
                        row.position, html_text(row.prompt));
    for (const auto& cell : row.cells) body += cell_html(grid, cell, row, folder);
    body += "</tr>\n";
  }
  if (group) body += "</table></div>\n";
  body += fmt::format("<p class=\"caption\">{}</p>\n<p>Signature: <code>{}</code></p>\n",
                      html_text(grid_caption(grid)), html_text(grid.signature));
  return html_page(grid.title, kStyle, body);
}

}  // namespace harness
