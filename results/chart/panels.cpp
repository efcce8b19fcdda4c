#include "results/chart/panels.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace harness {
namespace {

/// The lowest and the highest.
std::vector<double> ends_of(const std::vector<double>& values) {
  if (values.empty()) return {};
  const auto [low, high] = std::ranges::minmax(values);
  return {low, high};
}

/// Those of all that a chart shows.
std::vector<double> extent_of(const Chart& chart) {
  std::vector<double> values;
  for (const auto& series : chart.series) {
    for (const auto& point : series.points) {
      for (const auto& value : {std::optional(point.y), point.low, point.high})
        if (value && (!chart.log_y || *value > 0)) values.push_back(*value);
    }
  }
  return ends_of(values);
}

ChartSeries thin(ChartSeries series) {
  series.behind = true;
  for (auto& point : series.points) point.low = point.high = std::nullopt;
  return series;
}

}  // namespace

void share_extent(std::vector<Chart>& charts) {
  std::vector<double> all;
  for (const auto& chart : charts) {
    for (const auto& series : chart.series)
      std::ranges::transform(series.points, std::back_inserter(all), &ChartPoint::x);
  }
  for (auto& chart : charts) chart.covers = ends_of(all);
}

std::vector<Chart> panels_of(const Chart& all, const std::string& baseline, const std::string& what) {
  constexpr std::size_t kBaselineColor = 0, kOwnColor = 1;
  std::vector<Chart> panels;
  for (const auto& own : all.series) {
    if (own.points.empty() || own.color == kNeutralColor) continue;
    Chart panel{.title = own.label,
                .x_label = all.x_label,
                .y_label = what,
                .log_y = all.log_y,
                .axes = what,
                .covers_y = extent_of(all)};
    ChartSeries compared;
    for (const auto& series : all.series) {
      if (series.points.empty()) continue;
      if (series.color == kNeutralColor) {
        panel.series.push_back(series);
      } else if (series.label == baseline) {
        compared = series;
      } else if (series.label != own.label) {
        panel.series.push_back(thin(series));
      }
    }
    compared.label = baseline + " (baseline)";
    compared.color = kBaselineColor;
    if (!compared.points.empty()) panel.series.push_back(std::move(compared));
    if (own.label != baseline) {
      panel.series.push_back(own);
      panel.series.back().label = fmt::format("the panel\u2019s method: {}", what);
      panel.series.back().color = kOwnColor;
    }
    panels.push_back(std::move(panel));
  }
  share_extent(panels);
  return panels;
}

}  // namespace harness
