#include "results/report/report_chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <ranges>

#include "results/table/markup.h"

namespace harness {
namespace {

constexpr double kWidth = 420, kHeight = 250;
constexpr double kLeft = 66, kRight = 410, kTop = 12, kBottom = 208;

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
  for (const double guide : chart.guides) range.add(guide, chart.log_y);
  return range;
}

Axis x_axis(const Chart& chart) {
  Range range;
  for (const auto& point : points_of(chart)) range.add(point.x, false);
  const double margin = std::max(0.02 * (range.high - range.low), range.high > range.low ? 0.0 : 0.5);
  return {.first = range.low - margin, .last = range.high + margin, .from = kLeft + 6, .to = kRight - 6};
}

Axis y_axis(const Chart& chart) {
  auto range = y_range(chart);
  Axis axis{.from = kBottom, .to = kTop, .log = chart.log_y};
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

/// About `count` round values (1, 2 or 5 times a power of ten) within the axis.
std::vector<double> linear_ticks(const Axis& axis, int count) {
  const double raw = (axis.last - axis.first) / count;
  const double power = std::pow(10.0, std::floor(std::log10(raw)));
  const double lead = raw / power;
  const double step = power * (lead <= 1 ? 1 : lead <= 2 ? 2 : lead <= 5 ? 5 : 10);
  std::vector<double> ticks;
  for (double i = std::ceil(axis.first / step); i * step <= axis.last + 1e-9 * step; ++i) {
    ticks.push_back(i * step);
  }
  return ticks;
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

std::string axis_label(const std::string& text, double x, double y, const std::string& more) {
  return fmt::format("<text class=\"label\" x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\"{}>{}</text>", x,
                     y, more, html_text(text));
}

std::string frame_svg(const Chart& chart, const Axis& x, const Axis& y) {
  std::string out;
  for (const double tick : y.log ? log_ticks(y) : linear_ticks(y, 5)) {
    out += fmt::format(
        "<path class=\"grid\" d=\"M{:.1f} {:.1f}H{:.1f}\"/><text class=\"tick\" x=\"{:.1f}\" y=\"{:.1f}\" "
        "text-anchor=\"end\">{}</text>",
        kLeft, y.pixel(tick), kRight, kLeft - 6, y.pixel(tick) + 4, short_number(tick));
  }
  for (const double tick : linear_ticks(x, 8)) {
    if (tick != std::floor(tick)) continue;  // steps and updates are counted
    out += fmt::format("<text class=\"tick\" x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{}</text>",
                       x.pixel(tick), kBottom + 16, short_number(tick));
  }
  out +=
      fmt::format("<path class=\"axis\" d=\"M{:.1f} {:.1f}V{:.1f}H{:.1f}\"/>", kLeft, kTop, kBottom, kRight);
  const double middle = (kTop + kBottom) / 2;
  out += axis_label(chart.x_label, (kLeft + kRight) / 2, kHeight - 6, "") +
         axis_label(chart.y_label, 12, middle, fmt::format(" transform=\"rotate(-90 12 {})\"", middle));
  for (const double guide : chart.guides) {
    if (!drawable(guide, y.log)) continue;
    out += fmt::format("<path class=\"guide\" d=\"M{:.1f} {:.1f}H{:.1f}\"/>", kLeft, y.pixel(guide), kRight);
  }
  return out;
}

std::vector<ChartPoint> drawable_points(const ChartSeries& series, bool log) {
  std::vector<ChartPoint> points;
  for (const auto& point : series.points) {
    if (drawable(point.y, log)) points.push_back(point);
  }
  return points;
}

/// The lower end of a range; on a logarithmic axis one that is not positive ends at the axis.
double low_pixel(const ChartPoint& point, const Axis& y) {
  const double low = point.low.value_or(point.y);
  return drawable(low, y.log) ? std::min(y.pixel(low), kBottom) : kBottom;
}

double high_pixel(const ChartPoint& point, const Axis& y) {
  return std::max(y.pixel(point.high.value_or(point.y)), kTop);
}

/// Adds the points at these heights to a path.
void add_points(const auto& points, const Axis& x, auto height, std::string& path) {
  for (const auto& point : points)
    path += fmt::format("{}{:.1f} {:.1f}", path.empty() ? 'M' : 'L', x.pixel(point.x), height(point));
}

std::string band_svg(const std::vector<ChartPoint>& points, std::size_t color, const Axis& x, const Axis& y) {
  const bool has_range = std::ranges::any_of(points, [](const auto& point) { return point.low.has_value(); });
  if (!has_range || points.size() < 2) return {};
  std::string path;
  add_points(
      points, x, [&](const ChartPoint& point) { return high_pixel(point, y); }, path);
  add_points(
      points | std::views::reverse, x, [&](const ChartPoint& point) { return low_pixel(point, y); }, path);
  return fmt::format("<path class=\"band c{}\" d=\"{}Z\"/>", color, path);
}

std::string mark_svg(std::size_t color, double x, double y) {
  struct Outline {
    double left, up;  ///< of the point, where it begins
    const char* path;
  };
  constexpr Outline kOutlines[] = {{3.3, 3.3, "h6.6v6.6h-6.6"},               // square
                                   {0, 4.6, "l4.3 7.4h-8.6"},                 // triangle
                                   {0, 4.6, "l4.6 4.6l-4.6 4.6l-4.6 -4.6"}};  // diamond
  if (color % 4 == 0)
    return fmt::format("<circle class=\"mark c{}\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3.6\"/>", color, x, y);
  const auto& [left, up, path] = kOutlines[color % 4 - 1];
  return fmt::format("<path class=\"mark c{}\" d=\"M{:.1f} {:.1f}{}Z\"/>", color, x - left, y - up, path);
}

std::string line_svg(const std::vector<ChartPoint>& points, std::size_t color, const Axis& x, const Axis& y) {
  std::string path;
  add_points(
      points, x, [&](const ChartPoint& point) { return y.pixel(point.y); }, path);
  return fmt::format("<path class=\"line c{}\" d=\"{}\"/>", color, path);
}

std::string marks_svg(const std::vector<ChartPoint>& points, std::size_t color, const Axis& x,
                      const Axis& y) {
  std::string out;
  for (const auto& point : points) {
    const double at = x.pixel(point.x), height = y.pixel(point.y);
    if (point.low && point.high) {
      out += fmt::format("<path class=\"bar c{}\" d=\"M{:.1f} {:.1f}V{:.1f}\"/>", color, at,
                         low_pixel(point, y), high_pixel(point, y));
    }
    out += mark_svg(color, at, height);
    if (point.marked)
      out +=
          fmt::format("<circle class=\"ring c{}\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"8\"/>", color, at, height);
  }
  return out;
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
    if (series.points.empty()) continue;
    text += fmt::format(" {}: {} to {}.", series.label, short_number(series.points.front().y),
                        short_number(series.points.back().y));
  }
  return text;
}

}  // namespace

std::string short_number(double value) {
  if (value == 0) return "0";
  if (std::abs(value) >= 0.001 && std::abs(value) < 1e5) return fmt::format("{:.5g}", value);
  const auto text = fmt::format("{:.3e}", value);
  auto digits = text.substr(0, text.find('e'));
  digits.erase(digits.find_last_not_of('0') + 1);
  if (digits.ends_with('.')) digits.pop_back();
  return fmt::format("{}e{}", digits, std::stoi(text.substr(text.find('e') + 1)));
}

std::string key_svg(std::size_t color, ChartLook look) {
  std::string out = "<svg viewBox=\"0 0 28 14\" aria-hidden=\"true\">";
  if (look != ChartLook::kMarks) out += fmt::format("<path class=\"line c{}\" d=\"M1 7H27\"/>", color);
  if (look != ChartLook::kLine) out += mark_svg(color, 14, 7);
  return out + "</svg>";
}

bool is_empty(const Chart& chart) {
  return std::ranges::none_of(
      chart.series, [&](const auto& series) { return !drawable_points(series, chart.log_y).empty(); });
}

std::string chart_svg(const Chart& chart) {
  const auto axis = x_axis(chart), y = y_axis(chart);
  std::string bands, lines, marks;
  for (const auto& series : chart.series) {
    const auto points = drawable_points(series, chart.log_y);
    if (points.empty()) continue;
    auto x = axis;
    x.from += series.shift;
    x.to += series.shift;
    if (series.look == ChartLook::kLine) bands += band_svg(points, series.color, x, y);
    if (series.look != ChartLook::kMarks) lines += line_svg(points, series.color, x, y);
    const bool alone = points.size() == 1;  // a line of one point cannot be seen
    if (series.look != ChartLook::kLine || alone) marks += marks_svg(points, series.color, x, y);
  }
  return fmt::format(
      "<svg class=\"chart\" viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{}\">{}{}{}{}</svg>", kWidth,
      kHeight, html_text(description_of(chart)), frame_svg(chart, axis, y), bands, lines, marks);
}

Json chart_readout(const Chart& chart) {
  const auto axis = x_axis(chart);
  std::map<double, Json> by_x;
  for (std::size_t i = 0; i < chart.series.size(); ++i) {
    for (const auto& point : chart.series[i].points) {
      auto& texts = by_x[point.x];
      if (texts.is_null()) texts = Json::array();
      texts.push_back({i, point_text(point)});
    }
  }
  Json points = Json::array();
  for (auto& [x, texts] : by_x) {
    const double pixel = std::round(axis.pixel(x) * 10) / 10;
    points.push_back({pixel, fmt::format("{} {}", chart.x_label, short_number(x)), std::move(texts)});
  }
  Json series = Json::array();
  for (const auto& one : chart.series) series.push_back({one.label, one.color});
  return {{"width", kWidth},
          {"top", kTop},
          {"bottom", kBottom},
          {"series", std::move(series)},
          {"points", std::move(points)}};
}

}  // namespace harness
