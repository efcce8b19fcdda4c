#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "core/json.h"
#include "results/chart/drawing.h"

namespace harness {

/// One point, the range around it (a band or a bar) and what a reader is told of it.
struct ChartPoint {
  double x = 0, y = 0;
  std::optional<double> low = {}, high = {};
  bool marked = false;    ///< ringed, as the selected checkpoint is
  std::string note = {};  ///< in the tooltip after the value
};

/// A line with a band, marks with bars, or marks with bars joined by a line.
enum class ChartLook { kLine, kMarks, kLineAndMarks };

/// `color` counts the methods from 0 and decides colour and mark (kNeutralColor: the base model).
struct ChartSeries {
  std::string label;
  std::size_t color = 0;
  ChartLook look = ChartLook::kLine;
  bool behind = false;  ///< a thin grey line behind the others, without marks, band and legend
  double shift = 0;     ///< pixels to the right, so that marks of several series stand side by side
  std::vector<ChartPoint> points = {};
};

inline constexpr std::size_t kColors = 8;
inline constexpr std::size_t kNeutralColor = kColors;

struct Chart {
  std::string title, x_label = {}, y_label = {};
  bool log_y = false;
  std::string axes = {};              ///< charts of one name have the same axes
  std::vector<double> guides = {};    ///< horizontal lines
  std::vector<double> covers = {};    ///< values that the horizontal axis holds beside the points
  std::vector<double> covers_y = {};  ///< the same of the vertical one
  std::vector<ChartSeries> series = {};
};

/// Charts that belong together, with what a reader needs to judge them.
struct ChartGroup {
  std::string title;
  std::vector<std::string> notes = {};
  std::vector<Chart> charts = {};
  bool small = false;  ///< many panels, a method each
};

/// True if no series holds a point that can be drawn (on a logarithmic axis: a positive one).
bool is_empty(const Chart& chart);

/// Where a chart's axes are in its drawing, and how large its parts.
struct ChartFrame {
  double width = 420, height = 250;
  double left = 66, right = 410, top = 12, bottom = 208;
  double inset = 6;         ///< between an axis and the first point
  double tick_gap = 6;      ///< between the vertical axis and its numbers
  double tick_drop = 16;    ///< from the horizontal axis to the baseline of its numbers
  double half_letter = 4;   ///< of a number beside the vertical axis
  double x_label_rise = 6;  ///< of the horizontal axis' label above the drawing's end
  double y_label_at = 12;
  double mark = 1;  ///< size of marks, of the usual one
  double wanted_y_ticks = 5, wanted_x_ticks = 8;
  bool marks_on_lines = false;  ///< a few, so that lines are distinguished without colour
  bool has_x_numbers = true, has_y_numbers = true, has_labels = true;
};

/// The axes, lines, bands and marks of a chart, without title and legend.
Drawing chart_drawing(const Chart& chart, const ChartFrame& frame = {});

/// Room that the numbers of the vertical axis need in a file, in points.
double y_numbers_width(const Chart& chart, const ChartFrame& frame);

/// What the page shows under the pointer, in the frame of a page: {"box": [left, top, right, bottom],
/// "points": [[x in pixels, x, [[series, text], ...]], ...]}.
Json chart_readout(const Chart& chart);

/// How a series looks where lines carry marks (ChartFrame::marks_on_lines).
ChartLook look_in_print(const Chart& chart, const ChartSeries& series);

/// How a series is drawn, for a legend: a line, a mark, or both, in a box of 28 x 14.
Drawing key_drawing(std::size_t color, ChartLook look, double mark = 1);

/// Round values (1, 2 or 5 times a power of ten) from `low` to `high`, as near to `count` of them as can be.
std::vector<double> round_values(double low, double high, double count);

/// A number as axes and tooltips print it: four significant digits, "3.2e-4" below 0.001.
std::string short_number(double value);

}  // namespace harness
