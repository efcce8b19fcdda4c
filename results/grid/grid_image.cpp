#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "results/grid/grid.h"
#include "results/grid/grid_canvas.h"
#include "results/store/stored_image.h"

namespace harness {
namespace {

// All lengths in pixels.
constexpr double kMargin = 32, kLabelWidth = 270, kCellWidth = 288, kGap = 20, kRowGap = 18;
constexpr double kScoreWidth = 52, kDigitWidth = 11;  // of a score with two decimals, and each further one
constexpr Color kInk{28, 28, 28}, kGrey{104, 104, 104}, kRule{200, 200, 200};

constexpr TextStyle kTitle{.size = 22, .bold = true, .color = kInk};
constexpr TextStyle kHead{.size = 18, .bold = true, .color = kInk, .align = PANGO_ALIGN_CENTER};
constexpr TextStyle kSubhead{.size = 14, .color = kGrey, .align = PANGO_ALIGN_CENTER};
constexpr TextStyle kGroup{.size = 18, .bold = true, .color = kInk};
constexpr TextStyle kTarget{.size = 18, .bold = true, .color = kInk, .max_lines = 2};
constexpr TextStyle kPrompt{.size = 14, .color = kGrey, .max_lines = 5};
constexpr TextStyle kTranscript{.size = 16, .color = kInk};
constexpr TextStyle kJudgement{.size = 14, .color = kInk, .max_lines = 3};
constexpr TextStyle kScore{.size = 16, .color = kInk, .align = PANGO_ALIGN_RIGHT};
constexpr TextStyle kCaption{.size = 15, .color = kInk, .max_lines = 0};
constexpr TextStyle kSignature{.size = 12, .color = kGrey, .max_lines = 0};

double column_x(std::size_t column) {
  return kMargin + kLabelWidth + kGap + static_cast<double>(column) * (kCellWidth + kGap);
}

double score_width(const Grid& grid) {
  return kScoreWidth + kDigitWidth * std::max(0, grid.score_decimals - 2);
}

/// Width of all columns together, without the margins.
double content_width(const Grid& grid) {
  return column_x(grid.columns.size()) - kGap - kMargin;
}

/// An image's place in its cell: whole factors up to the cell's width, or shrunk to it.
struct Placement {
  double width, height;
};

Placement place(const Image& image) {
  const double room = kCellWidth / image.width;
  const double zoom = room >= 1 ? std::floor(room) : room;
  return {image.width * zoom, std::round(image.height * zoom)};
}

constexpr TranscriptMarks kMarks{
    .escaped = markup_text,
    .whole = "{}",
    .wrong = "<span foreground=\"#b3261e\" background=\"#fbdcd8\">{}</span>",
    .missing = "<span foreground=\"#b3261e\" weight=\"bold\" background=\"#fbdcd8\">\u2038</span>",
    .failed = "<span foreground=\"#b3261e\" style=\"italic\">{}</span>"};

double draw_heads(GridCanvas& canvas, const Grid& grid, double y) {
  double height = 0;
  for (std::size_t i = 0; i < grid.columns.size(); ++i) {
    const auto& column = grid.columns[i];
    double used = canvas.text(markup_text(column.title), column_x(i), y, kCellWidth, kHead);
    if (!column.subtitle.empty()) {
      used += canvas.text(markup_text(column.subtitle), column_x(i), y + used, kCellWidth, kSubhead);
    }
    height = std::max(height, used);
  }
  return y + height + 8;
}

double draw_group(GridCanvas& canvas, const Grid& grid, GridGroup group, double y) {
  canvas.line(kMargin, y, content_width(grid), kRule);
  const auto [title, rule] = grid_group_text(group, grid);
  const auto markup = fmt::format("{}  <span size=\"80%\" weight=\"normal\" foreground=\"#686868\">{}</span>",
                                  title, markup_text(rule));
  return y + 8 + canvas.text(markup, kMargin, y + 8, content_width(grid), kGroup) + 10;
}

double draw_label(GridCanvas& canvas, const GridRow& row, double y) {
  double used = 0;
  if (!row.target.empty()) {
    const auto target = row.is_judged ? row.target : "\u201c" + row.target + "\u201d";
    used = canvas.text(markup_text(target), kMargin, y, kLabelWidth, kTarget) + 4;
  }
  const auto prompt = fmt::format("#{}  {}", row.position, row.prompt);
  return used + canvas.text(markup_text(prompt), kMargin, y + used, kLabelWidth, kPrompt);
}

double draw_cell(GridCanvas& canvas, const Grid& grid, const GridCell& cell, const GridRow& row, double x,
                 double y) {
  const Image image = decode_png(read_stored_image(cell.image, cell.sha256), cell.image);
  const auto [width, height] = place(image);
  const double left = x + std::floor((kCellWidth - width) / 2);
  canvas.picture(image, left, y, width, height);
  canvas.frame(left, y, width, height, kRule);
  const double below = y + height + 5;
  const double room = score_width(grid);
  const double used = canvas.text(text_beneath(cell, row, kMarks), x, below, kCellWidth - room,
                                  row.is_judged ? kJudgement : kTranscript);
  const auto score = cell.score ? fmt::format("{:.{}f}", *cell.score, grid.score_decimals) : "\u2014";
  const double of_score = canvas.text(score, x + kCellWidth - room, below, room, kScore);
  return height + 5 + std::max(used, of_score);
}

double draw_row(GridCanvas& canvas, const Grid& grid, const GridRow& row, double y) {
  if (row.cells.size() != grid.columns.size()) {
    throw Error(fmt::format("prompt {} has {} images for {} columns", row.position, row.cells.size(),
                            grid.columns.size()),
                "grid", "", Status::kFailed);
  }
  double height = draw_label(canvas, row, y);
  for (std::size_t i = 0; i < row.cells.size(); ++i) {
    height = std::max(height, draw_cell(canvas, grid, row.cells[i], row, column_x(i), y));
  }
  return y + height + kRowGap;
}

double draw_foot(GridCanvas& canvas, const Grid& grid, double y) {
  canvas.line(kMargin, y, content_width(grid), kRule);
  y += 10;
  y += canvas.text(markup_text(grid_caption(grid)), kMargin, y, content_width(grid), kCaption) + 6;
  if (grid.signature.empty()) return y;
  return y + canvas.text(markup_text("Signature: " + grid.signature), kMargin, y, content_width(grid),
                         kSignature);
}

}  // namespace

Image render_grid(const Grid& grid) {
  GridCanvas canvas;
  double y = kMargin;
  y += canvas.text(markup_text(grid.title), kMargin, y, content_width(grid), kTitle) + 16;
  y = draw_heads(canvas, grid, y);
  std::optional<GridGroup> group;
  for (const auto& row : grid.rows) {
    if (group != row.group) y = draw_group(canvas, grid, row.group, y);
    group = row.group;
    y = draw_row(canvas, grid, row, y);
  }
  y = draw_foot(canvas, grid, y);
  return canvas.finish(static_cast<int>(content_width(grid) + 2 * kMargin),
                       static_cast<int>(std::ceil(y + kMargin)));
}

}  // namespace harness
