#include "results/chart/figure.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "core/error.h"
#include "core/files.h"
#include "core/paths/shown_path.h"
#include "core/text.h"
#include "results/table/markup.h"
#include "results/table/notation.h"
#include "results/table/table_view.h"

namespace harness {
namespace fs = std::filesystem;
namespace {

// All lengths in points.
constexpr double kGap = 12, kRowGap = 10, kTitleHeight = 13, kLegendRow = 12, kEdge = 2;
constexpr double kLeastChart = 128;  ///< width of a panel
constexpr double kSmallChart = 62;   ///< of a figure of many, which share their axes
constexpr double kSmallGap = 8;
constexpr double kNarrowChart = 100;  ///< of three and more in a figure in which no two of the former fit
constexpr double kKeyWidth = 30, kMark = 0.62;
constexpr double kDotsPerInch = 200;

struct Key {
  std::size_t color;
  ChartLook look;
  std::string label;

  bool operator==(const Key&) const = default;
};

void add_keys(const Chart& chart, std::vector<Key>& keys) {
  for (const auto& series : chart.series) {
    if (series.behind) continue;
    Key key{series.color, look_in_print(chart, series), series.label};
    if (!series.label.empty() && !series.points.empty() && std::ranges::find(keys, key) == keys.end())
      keys.push_back(std::move(key));
  }
}

/// Something drawn, kKeyWidth wide at most, and what it is.
using Explained = std::pair<Drawing, std::string>;

/// In lines of at most `width`; its height is that of its lines.
Drawing legend(const std::vector<Explained>& entries, double width, bool centred = true) {
  std::vector<std::pair<Drawing, double>> lines(1);  // with their widths
  for (const auto& [mark, label] : entries) {
    const double needed = kKeyWidth + text_width(Role::kKey, label) + kGap;
    if (lines.back().second > 0 && lines.back().second + needed > width + kGap) lines.emplace_back();
    auto& [line, used] = lines.back();
    line.add(mark, used, -1);
    line.words({Role::kKey}, {used + kKeyWidth, 9.5}, Anchor::kStart, label);
    used += needed;
  }
  Drawing out{.width = width};
  if (entries.empty()) return out;
  for (const auto& [line, used] : lines) {
    out.add(line, centred ? (width - used + kGap) / 2 : 0, out.height);
    out.height += kLegendRow;
  }
  out.height += 4;
  return out;
}

Drawing legend(const std::vector<Key>& keys, double width, bool centred = true) {
  std::vector<Explained> entries;
  for (const auto& key : keys) entries.emplace_back(key_drawing(key.color, key.look, kMark), key.label);
  return legend(entries, width, centred);
}

/// What is in the forests beside estimates and their intervals.
Drawing legend_of(const std::vector<Forest>& forests, double width) {
  std::vector<Explained> entries;
  const auto is_printed = [](const ForestRow& row) { return row.printed.has_value(); };
  if (std::ranges::any_of(forests, [&](const Forest& f) { return std::ranges::any_of(f.rows, is_printed); }))
    entries.emplace_back(printed_key(kMark), "printed in the paper");
  if (std::ranges::any_of(forests, [](const Forest& f) { return !f.guides.empty(); }))
    entries.emplace_back(guide_key(), "smallest change that counts as harmful");
  return legend(entries, width);
}

void draw_key(const Drawing& key, double& y, Drawing& out) {
  out.add(key, 0, y);
  y += key.height;
}

/// Below the plot room for the numbers of its axis, beside it for those of the other, and where axes have
/// labels for these.
ChartFrame frame_of(const Chart& chart, double width) {
  ChartFrame frame{.width = width,
                   .height = std::clamp(0.7 * width, 92.0, 135.0),
                   .left = 0,
                   .right = width - kEdge,
                   .top = 3,
                   .bottom = 0,
                   .inset = 8,
                   .tick_gap = 3,
                   .tick_drop = 9,
                   .half_letter = 2.5,
                   .x_label_rise = 2.5,
                   .y_label_at = 7,
                   .mark = kMark,
                   .wanted_y_ticks = 4,
                   .wanted_x_ticks = std::clamp(width / 26, 3.0, 9.0),
                   .marks_on_lines = true};
  frame.bottom = frame.height - (chart.x_label.empty() ? 12 : 22);
  frame.left = (chart.y_label.empty() ? 1 : 11) + frame.tick_gap + y_numbers_width(chart, frame);
  return frame;
}

ForestFrame forest_frame(double width) {
  return {.width = width,
          .left = 0,
          .right = width,
          .row = 23,
          .text_at = 8,
          .line_at = 15.5,
          .zero_from = 11,
          .zero_to = 20,
          .tick_at = 8,
          .side_at = 16,
          .foot = 19,
          .mark = kMark};
}

struct Panel {
  std::string title;
  Drawing key, drawing;
};

/// Panels that stand in rows of their own, below a heading if they have one.
struct Block {
  std::string heading = {};
  std::vector<Panel> panels = {};
  std::size_t columns = 1;
};

/// Of `count` panels that are `least` wide or more: as many in a row as fit, rows of equal length.
std::size_t columns_of(std::size_t count, double width, double least, double gap = kGap) {
  const auto most = static_cast<std::size_t>(std::max(1.0, std::floor((width + gap) / (least + gap))));
  const std::size_t rows = (count + std::min(most, count) - 1) / std::min(most, count);
  return (count + rows - 1) / rows;
}

double panel_width(double width, std::size_t columns, double gap = kGap) {
  return (width - gap * static_cast<double>(columns - 1)) / static_cast<double>(columns);
}

/// With a legend each where they do not share one.
Block block_of_charts(const std::vector<const Chart*>& charts, double width, bool shared) {
  const bool is_narrow = charts.size() > 2 && width < 2 * kLeastChart + kGap;
  const double least = is_narrow ? kNarrowChart : kLeastChart;
  Block block{.columns = columns_of(charts.size(), width, least)};
  const double room = panel_width(width, block.columns);
  for (const auto* chart : charts) {
    std::vector<Key> keys;
    if (!shared) add_keys(*chart, keys);
    block.panels.push_back(
        {chart->title, legend(keys, room, false), chart_drawing(*chart, frame_of(*chart, room))});
  }
  return block;
}

/// What the longest row of names and numbers needs.
double least_width(const std::vector<const Forest*>& forests) {
  double least = 0;
  for (const auto* forest : forests) {
    for (const auto& row : forest->rows)
      least =
          std::max(least, text_width(Role::kName, row.name) + text_width(Role::kNumbers, row.numbers) + 8);
  }
  return least;
}

Block block_of_forests(const std::vector<const Forest*>& forests, double width) {
  Block block{.columns = columns_of(forests.size(), width, least_width(forests))};
  const double room = panel_width(width, block.columns);
  for (const auto* forest : forests)
    block.panels.push_back({forest->title, {}, forest_drawing(*forest, forest_frame(room))});
  return block;
}

void draw_block(const Block& block, double width, double& y, Drawing& out) {
  if (!block.heading.empty()) {
    out.words({Role::kTitle}, {0, y + 8}, Anchor::kStart, block.heading);
    y += kTitleHeight + 2;
  }
  const double step = panel_width(width, block.columns) + kGap;
  for (std::size_t i = 0; i < block.panels.size(); i += block.columns) {
    const std::span row(&block.panels[i], std::min(block.columns, block.panels.size() - i));
    double key = 0, height = 0;
    for (const auto& panel : row) key = std::max(key, panel.key.height);
    for (std::size_t j = 0; j < row.size(); ++j) {
      const double left = step * static_cast<double>(j);
      out.words({block.heading.empty() ? Role::kTitle : Role::kLabel}, {left, y + 8}, Anchor::kStart,
                row[j].title);
      out.add(row[j].key, left, y + kTitleHeight);
      out.add(row[j].drawing, left, y + kTitleHeight + key);
      height = std::max(height, row[j].drawing.height);
    }
    y += kTitleHeight + key + height + kRowGap;
  }
}

/// Of a panel without the numbers of its axes, whose place is beside it and below.
ChartFrame small_frame(double width) {
  return {.width = width,
          .height = 0.7 * width,
          .left = 0,
          .right = width,
          .top = 0,
          .bottom = 0.7 * width,
          .inset = 5,
          .tick_gap = 3,
          .tick_drop = 9,
          .half_letter = 2.5,
          .mark = 0.45,
          .wanted_y_ticks = 4,
          .wanted_x_ticks = 4,
          .marks_on_lines = true,
          .has_labels = false};
}

/// Panels with the same axes: their numbers stand beside the first of a row and below the last of a column,
/// what they count by once.
void draw_small(const std::vector<Chart>& charts, double width, double& y, Drawing& out) {
  std::vector<Key> keys;
  double numbers = 0, least = kSmallChart;
  for (const auto& chart : charts) {
    add_keys(chart, keys);
    numbers = std::max(numbers, y_numbers_width(chart, small_frame(kSmallChart)));
    least = std::max(least, text_width(Role::kTitle, chart.title));
  }
  draw_key(legend(keys, width), y, out);
  const double first = numbers + small_frame(0).tick_gap;
  const double all = width - first - kEdge;  // the last number of an axis ends beyond it
  const auto columns = columns_of(charts.size(), all, least, kSmallGap);
  const double room = panel_width(all, columns, kSmallGap);
  auto frame = small_frame(room);
  const double row = kTitleHeight + frame.height + kSmallGap;
  for (std::size_t i = 0; i < charts.size(); ++i) {
    const double left = first + (room + kSmallGap) * static_cast<double>(i % columns);
    const double top = y + row * static_cast<double>(i / columns);
    frame.has_y_numbers = i % columns == 0;
    frame.has_x_numbers = i + columns >= charts.size();
    out.words({Role::kTitle}, {left, top + 8}, Anchor::kStart, charts[i].title);
    out.add(chart_drawing(charts[i], frame), left, top + kTitleHeight);
  }
  y += row * static_cast<double>((charts.size() + columns - 1) / columns) - kSmallGap + frame.tick_drop;
  out.words({Role::kLabel}, {first + all / 2, y + 9}, Anchor::kMiddle, charts.front().x_label);
  y += 12 + kRowGap;
}

/// A block for each set of panels that share their axes.
void draw_small_charts(const Figure& figure, double width, double& y, Drawing& out) {
  std::vector<std::vector<Chart>> blocks;
  for (const auto& chart : figure.charts) {
    if (is_empty(chart)) continue;
    if (blocks.empty() || blocks.back().front().axes != chart.axes) blocks.emplace_back();
    blocks.back().push_back(chart);
  }
  for (const auto& block : blocks) draw_small(block, width, y, out);
}

void draw_charts(const Figure& figure, double width, double& y, Drawing& out) {
  if (figure.small) {
    draw_small_charts(figure, width, y, out);
    return;
  }
  std::vector<const Chart*> charts;
  std::vector<Key> all;
  bool shared = true;
  for (const auto& chart : figure.charts) {
    if (is_empty(chart)) continue;
    std::vector<Key> keys;
    add_keys(chart, keys);
    shared = shared && (charts.empty() || keys == all);
    add_keys(chart, all);
    charts.push_back(&chart);
  }
  if (charts.empty()) return;
  if (shared) draw_key(legend(all, width), y, out);
  draw_block(block_of_charts(charts, width, shared), width, y, out);
}

/// A block a baseline.
void draw_forests(const Figure& figure, double width, double& y, Drawing& out) {
  draw_key(legend_of(figure.forests, width), y, out);
  for (const auto& baseline : distinct_of(figure.forests, &Forest::baseline)) {
    std::vector<const Forest*> forests;
    for (const auto& forest : figure.forests) {
      if (forest.baseline == baseline) forests.push_back(&forest);
    }
    auto block = block_of_forests(forests, width);
    block.heading = "Against " + baseline;
    draw_block(block, width, y, out);
  }
}

/// The caption's sentences.
std::string caption_of(const Figure& figure) {
  std::string caption = latex_notation(figure.title) + ".";
  for (const auto& note : figure.notes) caption += " " + latex_notation(note);
  return caption;
}

}  // namespace

FigureWidth figure_width(const std::string& text) {
  if (text == "single") return {8};
  if (text == "double") return {16.5};
  constexpr double kLeast = 5, kMost = 60;
  if (const auto cm = parse_number<double>(text); cm && *cm >= kLeast && *cm <= kMost) return {*cm};
  throw Error(fmt::format("{} is not a width", in_quotes(text)), "--width",
              fmt::format("give single, double, or centimetres from {} to {}", kLeast, kMost));
}

Drawing figure_drawing(const Figure& figure, FigureWidth at) {
  const bool has_data = !figure.forests.empty() || !std::ranges::all_of(figure.charts, is_empty);
  if (!has_data)
    throw Error(
        "has nothing to draw: the experiment holds no such values", "figure " + figure.name,
        "nothing is known of the training of checkpoints and images from outside (--adapter, --images); `harness "
        "figure --list` says what each figure needs");
  Drawing out{.width = at.points(), .description = figure.title};
  double y = kEdge;
  draw_charts(figure, out.width, y, out);
  draw_forests(figure, out.width, y, out);
  out.height = y - kRowGap + kEdge;
  return out;
}

std::string latex_figure(const LatexFigure& figure) {
  const auto included = [&](const std::string& path) { return fmt::format("\\includegraphics{{{}}}", path); };
  constexpr std::string_view kSpecial = "#%&{}\\^~$ ";
  auto picture = included(figure.picture);
  // Compiled where the figure was drawn, or beside its folder, or in it.
  const auto own = fs::path(figure.folder).lexically_normal();
  const auto last = own.has_filename() ? own.filename() : own.parent_path().filename();
  for (const auto& folder : {last.string(), own.is_absolute() ? shown_path(own) : figure.folder}) {
    if (folder.empty() || folder == "." || folder.find_first_of(kSpecial) != std::string::npos) continue;
    const auto below = fmt::format("{}/{}", folder, figure.picture);
    const auto found = fmt::format("\\IfFileExists{{{}}}{{{}}}", below, included(below));
    if (!picture.starts_with(found)) picture = fmt::format("{}{{{}}}", found, picture);
  }
  const char* star = figure.wide ? "*" : "";
  return latex_file(
      {"graphicx"},
      fmt::format("\\begin{{figure{0}}}[tbp]\n\\centering\n"
                  "\\setbox2\\vbox{{\\caption{{{2}}}\n\\label{{{3}}}}}%\n"
                  "\\dimen4=\\dimexpr\\textheight-\\ht2-\\dp2-1pt\\relax\n"
                  "\\sbox0{{{1}}}%\n"
                  "\\ifdim\\wd0>\\linewidth\\sbox0{{\\resizebox{{\\linewidth}}{{!}}{{\\usebox0}}}}\\fi\n"
                  "\\ifdim\\ht0>\\dimen4\\sbox0{{\\resizebox{{!}}{{\\dimen4}}{{\\usebox0}}}}\\fi\n"
                  "\\usebox0\\par\n\\unvbox2\n\\end{{figure{0}}}\n",
                  star, picture, figure.caption, figure.label));
}

std::map<std::string, std::string> write_figure(const Figure& figure, FigureWidth width,
                                                const fs::path& folder) {
  const auto drawing = figure_drawing(figure, width);
  make_folder(folder);
  std::map<std::string, std::string> paths;
  const auto write = [&](const std::string& ending, const std::string& bytes) {
    const auto file = folder / (figure.name + ending);
    write_file_atomically(file, bytes);
    paths[file.filename().string()] = file.string();
  };
  write(".pdf", pdf_file(drawing));
  write(".svg", svg_file(drawing));
  write(".png", png_file(drawing, kDotsPerInch));
  write("-float.tex", latex_figure({.picture = figure.name + ".pdf",
                                    .folder = folder.string(),
                                    .label = "fig:" + figure.name,
                                    .caption = caption_of(figure),
                                    .wide = width.is_wide()}));
  return paths;
}

}  // namespace harness
