#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <vector>

#include "core/error.h"
#include "results/grid/grid.h"
#include "results/grid/grid_canvas.h"
#include "results/store/stored_image.h"

namespace harness {
namespace {

constexpr const char* kPaperFont = "Liberation Sans, DejaVu Sans";
constexpr Color kText{28, 28, 28}, kGrey{104, 104, 104}, kLine{200, 200, 200};

/// Lengths and letters of a grid: in pixels, or for paper in points.
struct GridLook {
  double margin = 32, label = 270, cell = 288, gap = 20, row_gap = 18, above_text = 5;
  double score = 52, digit = 11;  ///< room of a score with two decimals, and of each further one
  double head_gap = 8, group_gap = 8;
  double title = 22, head = 18, subhead = 14, group = 18, target = 18, prompt = 14, transcript = 16,
         judgement = 14, of_score = 16, caption = 15, signature = 12;
  double tallest = 0;         ///< image; 0: as its width has it
  bool whole_factors = true;  ///< small images are enlarged by whole factors
  bool bare = false;          ///< no title, caption and signature

  TextStyle style(double size, bool bold = false, Color color = kText) const {
    return {.size = size, .bold = bold, .color = color};
  }
};

constexpr GridLook kScreen{};

/// At a width of paper, bare; no letter is below 6 points.
GridLook paper_look(const Grid& grid, double width) {
  GridLook look{.margin = 0,
                .label = std::clamp(width * 0.2, 60.0, 110.0),
                .gap = 6,
                .row_gap = 5,
                .above_text = 2,
                .score = 19,
                .digit = 4,
                .head_gap = 3,
                .group_gap = 3,
                .head = 7.5,
                .subhead = 6.5,
                .group = 7.5,
                .target = 7,
                .prompt = 6.2,
                .transcript = 6.5,
                .judgement = 6.2,
                .of_score = 6.5,
                .tallest = 58,
                .whole_factors = false,
                .bare = true};
  look.cell = (width - look.label) / static_cast<double>(grid.columns.size()) - look.gap;
  return look;
}

double column_x(const GridLook& look, std::size_t column) {
  return look.margin + look.label + look.gap + static_cast<double>(column) * (look.cell + look.gap);
}

double score_width(const GridLook& look, const Grid& grid) {
  return look.score + look.digit * std::max(0, grid.score_decimals - 2);
}

/// Width of all columns together, without the margins.
double content_width(const GridLook& look, const Grid& grid) {
  return column_x(look, grid.columns.size()) - look.gap - look.margin;
}

/// An image's place in its cell: up to the cell's width, by whole factors where they are asked for.
struct Placement {
  double width, height;
};

Placement place(const GridLook& look, const Image& image) {
  const double room = look.cell / image.width;
  double zoom = look.whole_factors && room >= 1 ? std::floor(room) : room;
  if (look.tallest > 0) zoom = std::min(zoom, look.tallest / image.height);
  const double height = image.height * zoom;
  return {image.width * zoom, look.whole_factors ? std::round(height) : height};
}

constexpr TranscriptMarks kImageMarks{
    .escaped = markup_text,
    .whole = "{}",
    .wrong = "<span foreground=\"#b3261e\" background=\"#fbdcd8\">{}</span>",
    .missing = "<span foreground=\"#b3261e\" weight=\"bold\" background=\"#fbdcd8\">\u2038</span>",
    .failed = "<span foreground=\"#b3261e\" style=\"italic\">{}</span>"};

double draw_heads(GridCanvas& canvas, const GridLook& look, const Grid& grid, double y) {
  double height = 0;
  auto head = look.style(look.head, true), subhead = look.style(look.subhead, false, kGrey);
  head.align = subhead.align = PANGO_ALIGN_CENTER;
  for (std::size_t i = 0; i < grid.columns.size(); ++i) {
    const auto& column = grid.columns[i];
    const double x = column_x(look, i);
    double used = canvas.text(markup_text(column.title), x, y, look.cell, head);
    if (!column.subtitle.empty())
      used += canvas.text(markup_text(column.subtitle), x, y + used, look.cell, subhead);
    height = std::max(height, used);
  }
  return y + height + look.head_gap;
}

double draw_group(GridCanvas& canvas, const GridLook& look, const Grid& grid, GridGroup group, double y) {
  canvas.line(look.margin, y, content_width(look, grid), kLine);
  const auto [title, rule] = grid_group_text(group, grid);
  // The caption of a paper's figure has the rules.
  const auto markup =
      look.bare ? markup_text(title)
                : fmt::format("{}  <span size=\"80%\" weight=\"normal\" foreground=\"#686868\">{}</span>",
                              title, markup_text(rule));
  const double top = y + look.group_gap;
  return top +
         canvas.text(markup, look.margin, top, content_width(look, grid), look.style(look.group, true)) +
         look.group_gap + 2;
}

double draw_label(GridCanvas& canvas, const GridLook& look, const GridRow& row, double y) {
  double used = 0;
  auto target_style = look.style(look.target, true), prompt_style = look.style(look.prompt, false, kGrey);
  target_style.max_lines = 2;
  prompt_style.max_lines = 5;
  if (!row.prompt.target.empty()) {
    const auto shown = row.prompt.target.shown();
    const auto target = row.is_judged() ? shown : "\u201c" + shown + "\u201d";
    used = canvas.text(markup_text(target), look.margin, y, look.label, target_style) + look.above_text;
  }
  const auto prompt = fmt::format("#{}  {}", row.prompt.position, row.prompt.text);
  return used + canvas.text(markup_text(prompt), look.margin, y + used, look.label, prompt_style);
}

double draw_cell(GridCanvas& canvas, const GridLook& look, const Grid& grid, const GridCell& cell,
                 const GridRow& row, double x, double y) {
  const Image image = decode_png(read_stored_image(cell.image, cell.sha256), cell.image);
  const auto [width, height] = place(look, image);
  const double space = (look.cell - width) / 2;
  const double left = x + (look.whole_factors ? std::floor(space) : space);
  canvas.picture(image, left, y, width, height);
  canvas.frame(left, y, width, height, kLine);
  const double below = y + height + look.above_text;
  const double room = score_width(look, grid);
  auto text_style = look.style(row.is_judged() ? look.judgement : look.transcript);
  text_style.max_lines = row.is_judged() ? 3 : 1;
  const double used =
      canvas.text(text_beneath(cell, row, kImageMarks), x, below, look.cell - room, text_style);
  const auto score = cell.score ? fmt::format("{:.{}f}", *cell.score, grid.score_decimals) : "\u2014";
  auto score_style = look.style(look.of_score);
  score_style.align = PANGO_ALIGN_RIGHT;
  const double of_score = canvas.text(score, x + look.cell - room, below, room, score_style);
  return height + look.above_text + std::max(used, of_score);
}

double draw_row(GridCanvas& canvas, const GridLook& look, const Grid& grid, const GridRow& row, double y) {
  if (row.cells.size() != grid.columns.size()) {
    throw Error(fmt::format("prompt {} has {} images for {} columns", row.prompt.position, row.cells.size(),
                            grid.columns.size()),
                "grid", "", Status::kFailed);
  }
  double height = draw_label(canvas, look, row, y);
  for (std::size_t i = 0; i < row.cells.size(); ++i)
    height = std::max(height, draw_cell(canvas, look, grid, row.cells[i], row, column_x(look, i), y));
  return y + height + look.row_gap;
}

double draw_foot(GridCanvas& canvas, const GridLook& look, const Grid& grid, double y) {
  auto caption = look.style(look.caption), signature = look.style(look.signature, false, kGrey);
  caption.max_lines = signature.max_lines = 0;
  const double width = content_width(look, grid);
  canvas.line(look.margin, y, width, kLine);
  y += 10;
  y += canvas.text(markup_text(grid_caption(grid)), look.margin, y, width, caption) + 6;
  if (grid.signature.empty()) return y;
  return y + canvas.text(markup_text("Signature: " + grid.signature), look.margin, y, width, signature);
}

/// Where a drawn grid ends, and what of its height its rows and the headings of its groups take.
struct Heights {
  double end = 0;
  std::vector<double> rows = {};
  std::map<GridGroup, double> groups = {};
};

Heights draw_grid(GridCanvas& canvas, const GridLook& look, const Grid& grid) {
  Heights heights{.end = look.margin};
  double& y = heights.end;
  if (!look.bare) {
    auto title = look.style(look.title, true);
    y += canvas.text(markup_text(grid.title), look.margin, y, content_width(look, grid), title) + 16;
  }
  y = draw_heads(canvas, look, grid, y);
  std::optional<GridGroup> group;
  for (const auto& row : grid.rows) {
    const double top = y;
    if (group != row.group) {
      y = draw_group(canvas, look, grid, row.group, y);
      heights.groups[row.group] += y - top;
    }
    group = row.group;
    const double begin = y;
    y = draw_row(canvas, look, grid, row, y);
    heights.rows.push_back(y - begin);
  }
  if (!look.bare) y = draw_foot(canvas, look, grid, y);
  return heights;
}

}  // namespace

Image render_grid(const Grid& grid, bool bare) {
  auto look = kScreen;
  look.bare = bare;
  GridCanvas canvas;
  const double end = draw_grid(canvas, look, grid).end;
  return canvas.finish(static_cast<int>(content_width(look, grid) + 2 * look.margin),
                       static_cast<int>(std::ceil(end + look.margin)));
}

Grid fitted_to_page(Grid grid, double width) {
  constexpr double kTallest = 560;  // points; with its caption a page of a conference paper
  GridCanvas canvas(kPaperFont);
  auto [end, heights, headings] = draw_grid(canvas, paper_look(grid, width), grid);
  while (grid.rows.size() > 1 && end > kTallest) {
    std::map<GridGroup, std::size_t> counts;
    for (const auto& row : grid.rows) ++counts[row.group];
    // The last row of the largest group; of equal ones the last.
    auto drop = grid.rows.end() - 1;
    for (auto row = grid.rows.end(); row-- != grid.rows.begin();) {
      if (counts[row->group] > counts[drop->group]) drop = row;
    }
    const auto place = drop - grid.rows.begin();
    end -= heights[static_cast<std::size_t>(place)];
    if (counts[drop->group] == 1) end -= headings[drop->group];
    heights.erase(heights.begin() + place);
    grid.rows.erase(drop);
    ++grid.left_out;
  }
  return grid;
}

bool fits_picture(std::size_t columns) {
  return 2 * kScreen.margin + column_x(kScreen, columns) <= GridCanvas::kMaxSide;
}

bool fits_width(std::size_t columns, double width) {
  constexpr double kLeastCell = 36;  // points; a narrower column holds no score beside its text
  Grid grid;
  grid.columns.resize(columns);
  return paper_look(grid, width).cell >= kLeastCell;
}

std::string grid_pdf(const Grid& grid, double width) {
  const auto look = paper_look(grid, width);
  if (!fits_width(grid.columns.size(), width)) {
    throw Error(
        fmt::format("{} columns do not fit a width of {:.1f} cm", grid.columns.size(), width / 72 * 2.54),
        "--width", "give a larger one");
  }
  GridCanvas canvas(kPaperFont);
  const double end = draw_grid(canvas, look, grid).end;
  return canvas.finish_pdf(width, end, grid.title);
}

}  // namespace harness
