#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "core/error.h"
#include "core/text.h"
#include "harness/show/leaderboard.h"
#include "harness/show/report_curves.h"
#include "results/store/seeds.h"

namespace harness {
namespace {

constexpr std::size_t kOwnColor = 0, kBaselineColor = 1;

using Spent = std::optional<double>;

Spent place_of(const Budget& budget, CurveAxis axis) {
  switch (axis) {
    case CurveAxis::kImages:
      return budget.images;
    case CurveAxis::kEvaluations:
      return budget.nfe_total;
    case CurveAxis::kSeconds:
      break;
  }
  return budget.seconds;
}

const char* axis_label(CurveAxis axis) {
  switch (axis) {
    case CurveAxis::kImages:
      return "images";
    case CurveAxis::kEvaluations:
      return "network evaluations";
    case CurveAxis::kSeconds:
      break;
  }
  return "seconds";
}

const char* axis_name(CurveAxis axis) {
  switch (axis) {
    case CurveAxis::kImages:
      return "images decoded and scored in training";
    case CurveAxis::kEvaluations:
      return "network evaluations (forward + 3 backward, in images)";
    case CurveAxis::kSeconds:
      break;
  }
  return "seconds of training, on the machine of the signature";
}

/// By row and checkpoint the mean of what its runs had spent; nothing where one does not say.
std::map<std::pair<std::string, std::int64_t>, Spent> places_of(Store& store, const Experiment& experiment,
                                                                CurveAxis axis) {
  std::map<std::pair<std::string, std::int64_t>, std::vector<Spent>> all;
  for (const auto& run : runs_of(store, experiment)) {
    for (const auto& budget : store.budgets(run.id))
      all[{run.row, budget.checkpoint}].push_back(place_of(budget, axis));
  }
  std::map<std::pair<std::string, std::int64_t>, Spent> places;
  for (const auto& [key, values] : all) {
    const auto summary = summarize(values);
    if (summary.n_missing == 0) places[key] = summary.mean;
  }
  return places;
}

using Curve = std::vector<ChartPoint>;

/// From the starting weights on, which have spent nothing.
std::map<std::string, Curve> curves_of(Store& store, const Experiment& experiment, CurveAxis axis) {
  const auto evaluated = evaluated_checkpoints(store, experiment);
  const auto& selection = experiment.table.selection;
  const auto places = places_of(store, experiment, axis);
  const auto start = checkpoint_points(store, evaluated, {kBaseMethod, selection.split, selection.metric});
  std::map<std::string, Curve> curves;
  for (const auto& method : experiment.methods) {
    auto curve = start;
    for (auto& point : checkpoint_points(store, evaluated, {method, selection.split, selection.metric})) {
      const auto place = places.find({method, static_cast<std::int64_t>(point.x)});
      if (place == places.end() || !place->second) continue;
      point.x = *place->second;
      point.marked = false;
      curve.push_back(std::move(point));
    }
    if (curve.size() > start.size()) curves[method] = std::move(curve);
  }
  return curves;
}

/// What all panels have in common.
struct Frame {
  std::string baseline, x_label, y_name;
};

/// Every panel holds what any of them shows.
std::vector<double> extent_of(const std::map<std::string, Curve>& curves) {
  std::vector<double> values;
  for (const auto& [_, curve] : curves) {
    for (const auto& point : curve) {
      for (const auto& value : {std::optional(point.y), point.low, point.high})
        if (value) values.push_back(*value);
    }
  }
  const auto [low, high] = std::ranges::minmax(values);
  return {low, high};
}

Chart panel_of(const std::string& method, const Frame& frame, const std::map<std::string, Curve>& curves) {
  const auto& baseline = frame.baseline;
  Chart chart{.title = method, .x_label = frame.x_label, .covers_y = extent_of(curves)};
  for (const auto& [other, curve] : curves) {
    if (other != method && other != baseline) {
      Curve line = curve;
      for (auto& point : line) point.low = point.high = std::nullopt;
      chart.series.push_back({.label = other, .behind = true, .points = std::move(line)});
    }
  }
  if (const auto found = curves.find(baseline); found != curves.end())
    chart.series.push_back(
        {.label = baseline + " (baseline)", .color = kBaselineColor, .points = found->second});
  chart.series.push_back({.label = fmt::format("the panel\u2019s method: {}", frame.y_name),
                          .color = kOwnColor,
                          .points = curves.at(method)});
  return chart;
}

}  // namespace

Figure leaderboard_figure(Store& store, const Experiment& experiment, const std::string& name,
                          CurveAxis axis) {
  const auto curves = curves_of(store, experiment, axis);
  if (curves.empty())
    throw Error(
        fmt::format("no run of table {} says its {}", experiment.table_id, axis_name(axis)), "figure " + name,
        "choose another figure for images that were drawn elsewhere; runs of early versions, whose logs do not hold "
        "it, can be trained again with --fresh");
  const auto& selection = experiment.table.selection;
  Figure figure{
      .name = name,
      .title =
          fmt::format("{} on the {} split by {}", experiment.table.metric_catalogue.title(selection.metric),
                      selection.split, axis_name(axis)),
      .notes = {fmt::format("Table {} ({}, scale {}), {}: means over prompts and seeds at every candidate "
                            "checkpoint, bands are {}. Grey: the other "
                            "methods. All panels have the same axes and begin with the starting weights.",
                            experiment.table_id, experiment.backbone, experiment.scale,
                            seeds_in_words(experiment.seeds), intervals_of_means(experiment))},
      .small = true};
  const Frame frame{.baseline = experiment.effective.baseline,
                    .x_label = axis_label(axis),
                    .y_name = fmt::format("{}, {}", experiment.table.metric_catalogue.title(selection.metric),
                                          selection.split)};
  for (const auto& method : experiment.methods) {
    if (curves.contains(method)) figure.charts.push_back(panel_of(method, frame, curves));
  }
  return figure;
}

}  // namespace harness
