#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "core/json.h"

namespace harness {

/// One point, the range around it (a band or a bar) and what a reader is told of it.
struct ChartPoint {
  double x = 0, y = 0;
  std::optional<double> low = {}, high = {};
  bool marked = false;    ///< ringed, as the selected checkpoint is
  std::string note = {};  ///< stands in the tooltip behind the value
};

/// A line with a band, marks with bars, or marks with bars joined by a line.
enum class ChartLook { kLine, kMarks, kLineAndMarks };

/// `color` counts the methods from 0 and decides colour and mark (kNeutralColor: the starting weights).
struct ChartSeries {
  std::string label;
  std::size_t color = 0;
  ChartLook look = ChartLook::kLine;
  double shift = 0;  ///< pixels to the right, so that marks of several series stand side by side
  std::vector<ChartPoint> points = {};
};

inline constexpr std::size_t kColors = 8;
inline constexpr std::size_t kNeutralColor = kColors;

struct Chart {
  std::string title, x_label = {}, y_label = {};
  bool log_y = false;
  std::vector<double> guides = {};  ///< horizontal lines
  std::vector<ChartSeries> series = {};
};

/// Charts that belong together, with what a reader needs to judge them.
struct ChartGroup {
  std::string title;
  std::vector<std::string> notes = {};
  std::vector<Chart> charts = {};
};

/// True if no series holds a point that can be drawn (on a logarithmic axis: a positive one).
bool is_empty(const Chart& chart);

/// An SVG element in the page's colours (classes c0 to c7 and c8, the neutral one). Labels are escaped.
std::string chart_svg(const Chart& chart);

/// What the page shows under the pointer: {"box": [left, top, right, bottom], "points": [[x in pixels, x,
/// [[series, text], ...]], ...]}.
Json chart_readout(const Chart& chart);

/// How a series is drawn, for a legend: a line, a mark, or both.
std::string key_svg(std::size_t color, ChartLook look);

/// A number as axes and tooltips print it: four significant digits, "3.2e-4" below 0.001.
std::string short_number(double value);

}  // namespace harness
