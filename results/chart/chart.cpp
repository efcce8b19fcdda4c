#include "results/chart/chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <ranges>

#include "results/table/notation.h"

namespace harness {
namespace {

/// A value to a pixel, linear or logarithmic.
struct Axis {
  double first = 0, last = 1, from = 0, to = 1;
  bool log = false;

  double pixel(double value) const {
    const double at = log ? std::log10(value) : value;
    return from + (at - first) / (last - first) * (to - from);
  }
};

bool drawable(double value, bool log) {
  return std::isfinite(value) && (!log || value > 0);
}

struct Range {
  double low = std::numeric_limits<double>::infinity(), high = -low;

  void add(std::optional<double> value, bool log) {
    if (!value || !drawable(*value, log)) return;
    low = std::min(low, *value);
    high = std::max(high, *value);
  }
};

auto points_of(const Chart& chart) {
  return chart.series | std::views::transform(&ChartSeries::points) | std::views::join;
}

Range y_range(const Chart& chart) {
  Range range;
  for (const auto& point : points_of(chart)) range.add(point.y, chart.log_y);
  // A bar may leave the axis at its lower end where that is logarithmic: the points decide.
  const double floor = chart.log_y ? range.low / 3 : -std::numeric_limits<double>::infinity();
  for (const auto& point : points_of(chart)) {
    if (point.low) range.add(std::max(*point.low, floor), chart.log_y);
    range.add(point.high, chart.log_y);
  }
  for (const auto* values : {&chart.guides, &chart.covers_y})
    for (const double value : *values) range.add(value, chart.log_y);
  return range;
}

Axis x_axis(const Chart& chart, const ChartFrame& frame) {
  Range range;
  for (const auto& point : points_of(chart)) range.add(point.x, false);
  for (const double x : chart.covers) range.add(x, false);
  const double margin = std::max(0.02 * (range.high - range.low), range.high > range.low ? 0.0 : 0.5);
  return {.first = range.low - margin,
          .last = range.high + margin,
          .from = frame.left + frame.inset,
          .to = frame.right - frame.inset};
}

Axis y_axis(const Chart& chart, const ChartFrame& frame) {
  auto range = y_range(chart);
  Axis axis{.from = frame.bottom, .to = frame.top, .log = chart.log_y};
  if (chart.log_y) {
    axis.first = std::log10(range.low) - 0.08;
    axis.last = std::log10(range.high) + 0.08;
    return axis;
  }
  double margin = 0.06 * (range.high - range.low);
  if (margin == 0) margin = range.high == 0 ? 1 : std::abs(range.high) * 0.1;
  // A quantity that is never negative gets no axis below 0.
  axis.first = range.low >= 0 && range.low - margin < 0 ? 0 : range.low - margin;
  axis.last = range.high + margin;
  return axis;
}

std::vector<double> log_ticks(const Axis& axis) {
  const auto with = [&](const std::vector<double>& leads, int every) {
    std::vector<double> ticks;
    for (int decade = static_cast<int>(std::floor(axis.first)); decade <= axis.last; ++decade) {
      if (decade % every != 0) continue;
      for (const double lead : leads) {
        const double at = decade + std::log10(lead);
        if (at >= axis.first && at <= axis.last) ticks.push_back(lead * std::pow(10.0, decade));
      }
    }
    return ticks;
  };
  if (auto ticks = with({1}, 1); ticks.size() >= 2) return ticks.size() > 6 ? with({1}, 2) : ticks;
  auto ticks = with({1, 2, 5}, 1);
  return ticks.size() >= 2 ? ticks : with({1, 1.5, 2, 3, 4, 5, 6, 7, 8, 9}, 1);
}

Look of_series(Role role, std::size_t color) {
  return {role, fmt::format("c{}", color)};
}

/// "0.5"; "10^{-4}" and "2\u00b710^{-4}" on a logarithmic axis that reaches below 0.01.
std::string tick_text(double value, const Axis& axis) {
  const bool as_power = axis.log && axis.first < -2;
  const auto text = as_power ? fmt::format("{:.1e}", value) : short_number(value);
  const auto e = text.find('e');
  if (e == std::string::npos) return text;
  auto lead = text.substr(0, e);
  if (lead.ends_with(".0")) lead.erase(lead.size() - 2);
  const int power = std::stoi(text.substr(e + 1));
  return fmt::format("{}10^{{{}{}}}", lead == "1" ? "" : lead + "\u00b7", power < 0 ? "\u2212" : "",
                     std::abs(power));
}

/// A line is distinguished by marks, unless measured values have marks in its colour.
bool has_marks(const Chart& chart, const ChartSeries& line) {
  return std::ranges::none_of(chart.series, [&](const ChartSeries& other) {
    return other.look == ChartLook::kMarks && other.color == line.color;
  });
}

/// Whole numbers, as steps and updates are counted, and every second of them until their texts stand apart.
std::vector<double> x_ticks(const Axis& x, const ChartFrame& frame) {
  auto ticks = round_values(x.first, x.last, frame.wanted_x_ticks);
  std::erase_if(ticks, [](double tick) { return tick != std::floor(tick); });
  const auto half = [](double tick) { return text_width(Role::kTick, short_number(tick)) / 2; };
  const auto touch = [&](double left, double right) {
    return x.pixel(left) + half(left) + frame.tick_gap > x.pixel(right) - half(right);
  };
  while (ticks.size() > 2 && std::ranges::adjacent_find(ticks, touch) != ticks.end()) {
    for (std::size_t i = 0; 2 * i < ticks.size(); ++i) ticks[i] = ticks[2 * i];
    ticks.resize((ticks.size() + 1) / 2);
  }
  return ticks;
}

std::vector<double> y_ticks(const Axis& y, const ChartFrame& frame) {
  return y.log ? log_ticks(y) : round_values(y.first, y.last, frame.wanted_y_ticks);
}

void draw_frame(const Chart& chart, const ChartFrame& frame, const Axis& x, const Axis& y, Drawing& out) {
  for (const double tick : y_ticks(y, frame)) {
    out.line({Role::kGrid}, {{frame.left, y.pixel(tick)}, {frame.right, y.pixel(tick)}});
    if (!frame.has_y_numbers) continue;
    out.words({Role::kTick}, {frame.left - frame.tick_gap, y.pixel(tick) + frame.half_letter}, Anchor::kEnd,
              tick_text(tick, y));
  }
  for (const double tick : x_ticks(x, frame)) {
    if (!frame.has_x_numbers) break;
    out.words({Role::kTick}, {x.pixel(tick), frame.bottom + frame.tick_drop}, Anchor::kMiddle,
              short_number(tick));
  }
  out.line({Role::kAxis}, {{frame.left, frame.top}, {frame.left, frame.bottom}, {frame.right, frame.bottom}});
  if (frame.has_labels) {
    out.words({Role::kLabel}, {(frame.left + frame.right) / 2, frame.height - frame.x_label_rise},
              Anchor::kMiddle, chart.x_label);
    out.words_upwards({Role::kLabel}, {frame.y_label_at, (frame.top + frame.bottom) / 2}, chart.y_label);
  }
  for (const double guide : chart.guides) {
    if (!drawable(guide, y.log)) continue;
    out.line({Role::kGuide}, {{frame.left, y.pixel(guide)}, {frame.right, y.pixel(guide)}});
  }
}

std::vector<ChartPoint> drawable_points(const ChartSeries& series, bool log) {
  auto points = series.points;
  std::erase_if(points, [&](const ChartPoint& point) { return !drawable(point.y, log); });
  return points;
}

/// The lower end of a range; on a logarithmic axis one that is not positive ends at the axis.
double low_pixel(const ChartPoint& point, const Axis& y) {
  const double low = point.low.value_or(point.y);
  return drawable(low, y.log) ? std::min(y.pixel(low), y.from) : y.from;
}

double high_pixel(const ChartPoint& point, const Axis& y) {
  return std::max(y.pixel(point.high.value_or(point.y)), y.to);
}

void draw_band(const std::vector<ChartPoint>& points, std::size_t color, const Axis& x, const Axis& y,
               Drawing& out) {
  const bool has_range = std::ranges::any_of(points, [](const auto& point) { return point.low.has_value(); });
  if (!has_range || points.size() < 2) return;
  std::vector<Spot> spots;
  for (const auto& point : points) spots.push_back({x.pixel(point.x), high_pixel(point, y)});
  for (const auto& point : points | std::views::reverse)
    spots.push_back({x.pixel(point.x), low_pixel(point, y)});
  out.area(of_series(Role::kBand, color), std::move(spots));
}

/// Circle, square, triangle or diamond.
void draw_mark(std::size_t color, Spot at, double size, Drawing& out) {
  static const std::vector<Spot> kOutlines[] = {{{-3.3, -3.3}, {3.3, -3.3}, {3.3, 3.3}, {-3.3, 3.3}},
                                                {{0, -4.6}, {4.3, 2.8}, {-4.3, 2.8}},
                                                {{0, -4.6}, {4.6, 0}, {0, 4.6}, {-4.6, 0}}};
  const auto look = of_series(Role::kMark, color);
  if (color % 4 == 0) {
    out.circle(look, at, 3.6 * size);
    return;
  }
  auto spots = kOutlines[color % 4 - 1];
  for (auto& spot : spots) spot = {at.x + spot.x * size, at.y + spot.y * size};
  out.area(look, std::move(spots));
}

void draw_line(const std::vector<ChartPoint>& points, const Look& look, const Axis& x, const Axis& y,
               Drawing& out) {
  std::vector<Spot> spots;
  for (const auto& point : points) spots.push_back({x.pixel(point.x), y.pixel(point.y)});
  out.line(look, std::move(spots));
}

void draw_marks(const std::vector<ChartPoint>& points, std::size_t color, const Axis& x, const Axis& y,
                double size, Drawing& out) {
  for (const auto& point : points) {
    const Spot at{x.pixel(point.x), y.pixel(point.y)};
    if (point.low && point.high) {
      out.line(of_series(Role::kBar, color), {{at.x, low_pixel(point, y)}, {at.x, high_pixel(point, y)}});
    }
    draw_mark(color, at, size, out);
    if (point.marked) out.circle(of_series(Role::kRing, color), at, 8 * size);
  }
}

/// All points of a short line; of a long one a few, each series' at other places.
std::vector<ChartPoint> a_few(const std::vector<ChartPoint>& points, std::size_t color) {
  constexpr std::size_t kMarks = 6, kShort = 12;
  const auto every = points.size() <= kShort ? 1 : points.size() / kMarks;
  std::vector<ChartPoint> few;
  for (std::size_t i = (color * every / 3) % every; i < points.size(); i += every)
    few.push_back({.x = points[i].x, .y = points[i].y});
  return few;
}

std::string point_text(const ChartPoint& point) {
  auto text = short_number(point.y);
  if (point.low && point.high) {
    text += fmt::format(" [{}, {}]", short_number(*point.low), short_number(*point.high));
  }
  return point.note.empty() ? text : text + ", " + point.note;
}

/// For readers who see no picture: every series with its first and last value.
std::string description_of(const Chart& chart) {
  auto text = fmt::format("{}: {} by {}.", chart.title, chart.y_label, chart.x_label);
  for (const auto& series : chart.series) {
    if (series.points.empty() || series.behind) continue;
    text += fmt::format(" {}: {} to {}.", series.label, short_number(series.points.front().y),
                        short_number(series.points.back().y));
  }
  return text;
}

}  // namespace

std::vector<double> round_values(double low, double high, double count) {
  const double power = std::pow(10.0, std::floor(std::log10((high - low) / count)));
  std::vector<double> best;
  for (const double lead : {1.0, 2.0, 5.0, 10.0}) {
    const double step = lead * power;
    std::vector<double> values;
    for (double i = std::ceil(low / step - 1e-9); i * step <= high + 1e-9 * step; ++i)
      values.push_back(i * step);
    const auto distance = [&](const std::vector<double>& of) {
      return std::abs(static_cast<double>(of.size()) - count);
    };
    if (best.empty() || distance(values) < distance(best)) best = std::move(values);
  }
  return best;
}

std::string short_number(double value) {
  if (value == 0) return "0";
  if (std::abs(value) >= 0.001 && std::abs(value) < 1e5) return fmt::format("{:.5g}", value);
  const auto text = fmt::format("{:.3e}", value);
  auto digits = text.substr(0, text.find('e'));
  digits.erase(digits.find_last_not_of('0') + 1);
  if (digits.ends_with('.')) digits.pop_back();
  return fmt::format("{}e{}", digits, std::stoi(text.substr(text.find('e') + 1)));
}

ChartLook look_in_print(const Chart& chart, const ChartSeries& series) {
  return series.look == ChartLook::kLine && has_marks(chart, series) ? ChartLook::kLineAndMarks : series.look;
}

Drawing key_drawing(std::size_t color, ChartLook look, double mark) {
  Drawing out{.width = 28, .height = 14};
  if (look != ChartLook::kMarks) out.line(of_series(Role::kLine, color), {{1, 7}, {27, 7}});
  if (look != ChartLook::kLine) draw_mark(color, {14, 7}, mark, out);
  return out;
}

bool is_empty(const Chart& chart) {
  return std::ranges::none_of(
      chart.series, [&](const auto& series) { return !drawable_points(series, chart.log_y).empty(); });
}

Drawing chart_drawing(const Chart& chart, const ChartFrame& frame) {
  const auto axis = x_axis(chart, frame), y = y_axis(chart, frame);
  Drawing out{.width = frame.width, .height = frame.height, .description = description_of(chart)};
  Drawing lines, marks;
  draw_frame(chart, frame, axis, y, out);
  // What is drawn later lies on top: bands, then lines, then marks.
  for (const auto& series : chart.series) {
    const auto points = drawable_points(series, chart.log_y);
    if (points.empty()) continue;
    if (series.behind) {
      draw_line(points, {Role::kLine, "behind"}, axis, y, out);
      continue;
    }
    auto x = axis;
    x.from += series.shift * frame.mark;
    x.to += series.shift * frame.mark;
    if (series.look == ChartLook::kLine) draw_band(points, series.color, x, y, out);
    if (series.look != ChartLook::kMarks)
      draw_line(points, of_series(Role::kLine, series.color), x, y, lines);
    const bool alone = points.size() == 1;  // a line of one point cannot be seen
    if (series.look != ChartLook::kLine || alone) {
      draw_marks(points, series.color, x, y, frame.mark, marks);
    } else if (frame.marks_on_lines && has_marks(chart, series)) {
      draw_marks(a_few(points, series.color), series.color, x, y, frame.mark, marks);
    }
  }
  out.add(lines, 0, 0);
  out.add(marks, 0, 0);
  return out;
}

double y_numbers_width(const Chart& chart, const ChartFrame& frame) {
  double width = 0;
  const auto y = y_axis(chart, frame);
  for (const double tick : y_ticks(y, frame))
    width = std::max(width, text_width(Role::kTick, tick_text(tick, y)));
  return width;
}

Json chart_readout(const Chart& chart) {
  const ChartFrame frame;
  const auto axis = x_axis(chart, frame);
  std::map<double, Json> by_x;
  for (std::size_t i = 0; i < chart.series.size(); ++i) {
    if (chart.series[i].behind) continue;
    for (const auto& point : chart.series[i].points) {
      auto& texts = by_x[point.x];
      if (texts.is_null()) texts = Json::array();
      texts.push_back({i, point_text(point)});
    }
  }
  Json points = Json::array();
  for (auto& [x, texts] : by_x) {
    const double pixel = std::round(axis.pixel(x) * 10) / 10;
    points.push_back(
        {pixel, fmt::format("{} {}", plain_notation(chart.x_label), short_number(x)), std::move(texts)});
  }
  Json series = Json::array();
  for (const auto& one : chart.series) series.push_back({plain_notation(one.label), one.color});
  return {{"width", frame.width},
          {"top", frame.top},
          {"bottom", frame.bottom},
          {"series", std::move(series)},
          {"points", std::move(points)}};
}

}  // namespace harness
