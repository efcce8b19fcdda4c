#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "core/error.h"
#include "core/text.h"
#include "harness/show/leaderboard.h"
#include "harness/show/report_curves.h"
#include "results/chart/panels.h"
#include "results/store/seeds.h"

namespace harness {
namespace {

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
  return budget.costs.seconds;
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
  return "seconds of training, on the machine that trained it";
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

/// From the base model on, which have spent nothing.
std::map<std::string, Curve> curves_of(Store& store, const Experiment& experiment, CurveAxis axis) {
  ScoreReader scores(store);
  const auto& evaluated = scores.checkpoints(experiment);
  const auto& selection = experiment.table.selection;
  const auto places = places_of(store, experiment, axis);
  const auto start = checkpoint_points(scores, evaluated, {kBaseMethod, selection.split, selection.metric});
  std::map<std::string, Curve> curves;
  for (const auto& method : experiment.methods) {
    auto curve = start;
    for (auto& point : checkpoint_points(scores, evaluated, {method, selection.split, selection.metric})) {
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

}  // namespace

Figure leaderboard_figure(Store& store, const Experiment& experiment, const std::string& name,
                          CurveAxis axis) {
  const auto curves = curves_of(store, experiment, axis);
  if (curves.empty())
    throw Error(
        fmt::format("no run of table {} says its {}", experiment.table_id, axis_name(axis)), "figure " + name,
        "choose another figure for checkpoints and images from outside (--adapter, --images), of whose training "
        "nothing is known; runs of early versions, whose logs do not hold it, can be trained again with --fresh");
  const auto& selection = experiment.table.selection;
  Figure figure{
      .name = name,
      .title =
          fmt::format("{} on the {} split by {}", experiment.table.metric_catalogue.title(selection.metric),
                      selection.split, axis_name(axis)),
      .notes = {fmt::format("Table {} ({}, scale {}), {}: means over prompts and seeds at every candidate "
                            "checkpoint, bands are {}; those of the base model, with which all begin, over "
                            "the noise of each seed. Grey: the other methods. All panels have the same axes.",
                            experiment.table_id, experiment.backbone, experiment.scale,
                            seeds_in_words(experiment.seeds), intervals_of_means(experiment))},
      .small = true};
  Chart all{.title = figure.title, .x_label = axis_label(axis)};
  for (const auto& method : experiment.methods) {
    if (const auto found = curves.find(method); found != curves.end())
      all.series.push_back({.label = method, .points = found->second});
  }
  figure.charts = panels_of(
      all, experiment.effective.baseline,
      fmt::format("{}, {}", experiment.table.metric_catalogue.title(selection.metric), selection.split));
  return figure;
}

}  // namespace harness
