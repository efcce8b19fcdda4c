#include "harness/show/report_curves.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <utility>

#include "core/law_limits.h"
#include "core/text.h"
#include "harness/read/evaluated_checkpoints.h"
#include "results/chart/panels.h"
#include "results/statistics/verdict.h"
#include "results/store/rows.h"
#include "results/store/seeds.h"

namespace harness {
namespace {

/// Colours count the methods in the table's order; the base model has the neutral one.
std::size_t color_of(const Experiment& experiment, const std::string& method) {
  if (experiment.traits_of(method).is_start) return kNeutralColor;
  const auto found = std::ranges::find(experiment.methods, method);
  return static_cast<std::size_t>(found - experiment.methods.begin()) % kColors;
}

struct Statistic {
  const char *name, *title, *label;
  bool by_step = false;    ///< averaged over the trained steps
  bool on_policy = false;  ///< of the updates at which every log-ratio is 0, not of the others
  bool log = false;
};

constexpr Statistic kStatistics[] = {
    {.name = "reward_mean", .title = "Training reward", .label = "mean reward", .on_policy = true},
    {.name = "lambda_late", .title = "Late path variance", .label = "\u039b_{late} (nats)", .log = true},
    {.name = "lambda_center",
     .title = "Path variance",
     .label = "\u03bb_{center} (nats)",
     .by_step = true,
     .log = true},
    {.name = "clip_fraction", .title = "Clip fraction", .label = "share of ratios"},
    {.name = "grad_norm", .title = "Gradient norm", .label = "before clipping", .log = true}};

/// A statistic of the runs by update: rows of (arm, run_id, x, value).
constexpr auto kCurves = R"sql(
    WITH curve AS (
      SELECT member.arm, member.run_id, update_index AS x, avg(value) AS value
      FROM reproduction_runs AS member JOIN train_stats AS stat ON stat.run_id = member.run_id
      WHERE member.reproduction_id = ?1 AND name = ?2 AND (timestep IS NOT NULL) = ?3 AND on_policy = ?4
        AND value IS NOT NULL
      GROUP BY member.run_id, update_index
    ))sql";

/// The longest curve's number of points, and the last update that one has a value of.
std::pair<std::int64_t, std::int64_t> extent_of(Store& store, const Experiment& experiment,
                                                const Statistic& statistic) {
  static const auto kSql = kCurves + std::string(R"sql(
    SELECT max(points), max(last) FROM (SELECT count(*) AS points, max(x) AS last FROM curve GROUP BY run_id))sql");
  const auto [points, last] =
      rows_of<std::int64_t, std::int64_t>(store, kSql.c_str(), experiment.id, std::string(statistic.name),
                                          statistic.by_step, statistic.on_policy)
          .front();
  return {points, last};
}

/// How many of `updates` a point is a mean over, so that a curve has at most `most`: where it can, a divisor.
std::int64_t window_of(std::int64_t updates, std::int64_t most) {
  const auto least = (updates + most - 1) / most;
  for (auto window = least; window < 2 * least; ++window) {
    if (updates % window == 0) return window;
  }
  return least;
}

/// By row: means over windows, named by their last update, averaged over the seeds, with the seeds' range.
std::map<std::string, std::vector<ChartPoint>> points_of(Store& store, const Experiment& experiment,
                                                         const Statistic& statistic, std::int64_t window) {
  static const auto kSql = kCurves + std::string(R"sql(, averaged AS (
      SELECT arm, (x + ?5 - 1) / ?5 * ?5 AS x, avg(value) AS value FROM curve GROUP BY run_id, 2
    )
    SELECT arm, x, avg(value), iif(count(*) > 1, min(value), NULL), iif(count(*) > 1, max(value), NULL)
    FROM averaged GROUP BY arm, x ORDER BY arm, x)sql");
  using Bound = std::optional<double>;
  std::map<std::string, std::vector<ChartPoint>> points;
  for (const auto& [arm, x, mean, low, high] : rows_of<std::string, double, double, Bound, Bound>(
           store, kSql.c_str(), experiment.id, std::string(statistic.name), statistic.by_step,
           statistic.on_policy, window))
    points[arm].push_back({.x = x, .y = mean, .low = low, .high = high});
  return points;
}

Chart statistic_curves(Store& store, const Experiment& experiment, const Statistic& statistic,
                       std::int64_t window) {
  Chart chart{
      .title = statistic.title, .x_label = "update", .y_label = statistic.label, .log_y = statistic.log};
  auto points = points_of(store, experiment, statistic, window);
  for (const auto& method : experiment.methods)
    chart.series.push_back(
        {.label = method, .color = color_of(experiment, method), .points = std::move(points[method])});
  return chart;
}

std::string bands_note(const Experiment& experiment) {
  if (experiment.seeds.size() == 1) {
    return fmt::format("One training run per method (seed {}): there is no band over seeds.",
                       experiment.seeds.front());
  }
  return fmt::format("Lines are means over {}, bands their range.", seeds_in_words(experiment.seeds));
}

using Checkpoints = std::vector<const EvaluatedCheckpoint*>;

/// Mean of a metric over prompts and seeds with its interval: of training runs and prompts where there are
/// enough runs, else of prompts alone (as a comparison with zeros).
std::optional<ChartPoint> checkpoint_point(ScoreReader& scores, const Checkpoints& checkpoints,
                                           const std::string& metric) {
  std::vector<PairedValue> values;
  ChartPoint point{.x = static_cast<double>(checkpoints.front()->step)};
  std::vector<std::string> selected;
  for (const auto* checkpoint : checkpoints) {
    const auto& clusters = scores.clusters(checkpoint->evaluation_id);
    for (const auto& value : scores.values(checkpoint->evaluation_id, metric)) {
      values.push_back({.baseline = 0,
                        .method = value.value,
                        .cluster = clusters.at(value.prompt_id),
                        .seed = checkpoint->seed});
    }
    if (checkpoint->selected) selected.push_back(fmt::format("{}", checkpoint->seed));
  }
  const auto summary = compare_paired(values, Better::kUp);
  if (!summary.delta) return std::nullopt;
  point.y = *summary.delta;
  if (const auto interval = interval_of(summary, claim_of_runs(summary))) {
    point.low = interval->low;
    point.high = interval->high;
  }
  point.marked = !selected.empty() && checkpoints.front()->method != kBaseMethod;
  if (point.marked) {
    point.note = (selected.size() > 1 ? "selected, seeds " : "selected, seed ") + join(selected, ", ");
  }
  return point;
}

/// Marks of several series at one place stand side by side.
void set_apart(Chart& chart) {
  constexpr double kApart = 4;  // pixels
  const double middle = static_cast<double>(chart.series.size() - 1) / 2;
  for (std::size_t i = 0; i < chart.series.size(); ++i) {
    chart.series[i].shift = kApart * (static_cast<double>(i) - middle);
  }
}

/// As tables print it.
void in_percent(Chart& chart) {
  chart.title += " (%)";
  for (auto& series : chart.series) {
    for (auto& point : series.points) {
      point.y *= 100;
      for (auto* bound : {&point.low, &point.high}) {
        if (*bound) **bound *= 100;
      }
    }
  }
}

/// Looks repeat where methods are more than them.
bool has_a_look_each(const Experiment& experiment) {
  return experiment.methods.size() <= kColors;
}

constexpr const char* kGreyNote = " A panel a method, all with the same axes; grey: the other methods.";

/// The audit of one step, seeds averaged. Errors are those of measured minus predicted.
struct LawStep {
  struct Law {
    double predicted = 0, measured = 0, error = 0;
  };
  double step = 0;
  Law drift, variance;
  double lambda_of_variance = 0;
  std::optional<double> lambda_of_velocities;  ///< none in runs recorded before it was
};

std::vector<LawStep> law_steps(Store& store, const Experiment& experiment, const std::string& method) {
  constexpr auto kSql = R"sql(
    SELECT audit.timestep, avg(lambda_center), avg(-2 * log_ratio_mean), sqrt(sum(4 * mean_se * mean_se)) / count(*),
           avg(predicted_var), avg(log_ratio_var), sqrt(sum(var_se * var_se)) / count(*),
           avg(lambda_ratio_var), avg(lambda_velocity)
    FROM reproduction_runs AS member JOIN v_law_audit AS audit ON audit.run_id = member.run_id
    WHERE member.reproduction_id = ?1 AND member.arm = ?2 AND audit.fresh = 1
    GROUP BY audit.timestep ORDER BY audit.timestep)sql";
  return rows_as<LawStep, double, double, double, double, double, double, double, double,
                 std::optional<double>>(store, kSql, experiment.id, method);
}

constexpr std::size_t kPredicted = 0, kMeasured = 1;

using NumberOfStep = std::function<std::optional<double>(const LawStep&)>;

/// With bars of two errors; a step without a value has no place.
ChartSeries law_series(const char* label, std::size_t color, const std::vector<LawStep>& steps,
                       const NumberOfStep& value, const NumberOfStep& error = {}) {
  ChartSeries series{
      .label = label, .color = color, .look = color == kPredicted ? ChartLook::kLine : ChartLook::kMarks};
  for (const auto& step : steps) {
    const auto y = value(step);
    if (!y) continue;
    series.points.push_back({.x = step.step, .y = *y});
    if (!error) continue;
    series.points.back().low = *y - 2 * *error(step);
    series.points.back().high = *y + 2 * *error(step);
  }
  return series;
}

using LawOf = LawStep::Law LawStep::*;

Chart law_chart(const char* title, const char* label, const std::vector<LawStep>& steps, LawOf law) {
  const auto part = [law](auto member) { return [=](const LawStep& step) { return (step.*law).*member; }; };
  return {.title = title,
          .x_label = kStepLabel,
          .y_label = label,
          .log_y = true,
          .series = {law_series("predicted", kPredicted, steps, part(&LawStep::Law::predicted)),
                     law_series("measured", kMeasured, steps, part(&LawStep::Law::measured),
                                part(&LawStep::Law::error))}};
}

ChartSeries deviations(const char* label, std::size_t color, const std::vector<LawStep>& steps, LawOf law) {
  return law_series(label, color, steps, [law](const LawStep& step) {
    const auto& [predicted, measured, error] = step.*law;
    return error > 0 ? std::optional((measured - predicted) / error) : std::nullopt;
  });
}

/// lambda_center as the method takes it, and by the paper's other estimators.
Chart estimator_chart(const std::vector<LawStep>& steps) {
  return {
      .title = "Estimators of \u03bb_{center}",
      .x_label = kStepLabel,
      .y_label = "nats",
      .log_y = true,
      .series = {
          law_series("from the means", kPredicted, steps, [](const LawStep& s) { return s.drift.predicted; }),
          law_series("from the velocities", 2, steps,
                     [](const LawStep& s) { return s.lambda_of_velocities; }),
          law_series("from E[y]", kMeasured, steps, [](const LawStep& s) { return s.drift.measured; }),
          law_series("from Var(y)", 3, steps, [](const LawStep& s) { return s.lambda_of_variance; })}};
}

std::ptrdiff_t not_positive(const ChartSeries& series) {
  return std::ranges::count_if(series.points, [](const auto& point) { return !(point.y > 0); });
}

/// Steps with too few samples are shown, not judged.
std::string law_rule(Store& store, const Experiment& experiment) {
  constexpr auto kSql = R"sql(
    SELECT count(*) FILTER (WHERE samples >= ?2), count(*), max(samples)
    FROM reproduction_runs AS member JOIN v_law_audit AS audit ON audit.run_id = member.run_id
    WHERE member.reproduction_id = ?1 AND audit.fresh = 1)sql";
  const auto [judged, all, most] =
      rows_of<std::int64_t, std::int64_t, std::int64_t>(store, kSql, experiment.id, kLawEnoughSamples)
          .front();
  return fmt::format(
      "A run breaks the law where a step with at least {} samples is more than {} standard errors (dashed "
      "lines) and {:.0f} % away.{}",
      kLawEnoughSamples, kLawBreakZ, kLawBreakShare * 100,
      judged == all ? std::string()
      : judged == 0 ? fmt::format(" Here no step has more than {}, and none is judged.", most)
                    : fmt::format(" Of the steps here {} of {} have as many.", judged, all));
}

ChartGroup law_group(Store& store, const Experiment& experiment, const std::string& method) {
  const auto steps = law_steps(store, experiment, method);
  auto drift = law_chart("Drift: \u03bb_{center} and \u22122 E[y]", "nats", steps, &LawStep::drift),
       variance = law_chart("Variance: predicted and Var(y)", "nats^{2}", steps, &LawStep::variance),
       estimators = estimator_chart(steps);
  Chart deviation{.title = "Measured \u2212 predicted",
                  .x_label = kStepLabel,
                  .y_label = "standard errors",
                  .guides = {-kLawBreakZ, kLawBreakZ},
                  .series = {deviations("drift", 2, steps, &LawStep::drift),
                             deviations("variance", 3, steps, &LawStep::variance)}};
  set_apart(deviation);
  set_apart(estimators);
  ChartGroup group{.title = method};
  if (const auto below = not_positive(drift.series[1]) + not_positive(variance.series[1]); below > 0) {
    group.notes.push_back(
        fmt::format("{} not positive and {} no place on a logarithmic axis; the deviations show {}.",
                    below == 1 ? "1 measured value is" : fmt::format("{} measured values are", below),
                    below == 1 ? "has" : "have", below == 1 ? "it" : "them"));
  }
  group.charts = {std::move(drift), std::move(variance), std::move(deviation), std::move(estimators)};
  return group;
}

/// A statistic as one chart, or as panels; the first two are the most informative.
void add_statistic(Chart chart, const Experiment& experiment, std::size_t place, std::vector<Chart>& charts) {
  constexpr std::size_t kInPanels = 2;
  if (has_a_look_each(experiment)) {
    charts.push_back(std::move(chart));
    return;
  }
  if (place >= kInPanels) return;
  std::ranges::move(panels_of(chart, experiment.effective.baseline, chart.title), std::back_inserter(charts));
}

}  // namespace

std::string intervals_of_means(const Experiment& experiment) {
  return std::ssize(experiment.seeds) >= kFewestRuns ? "95 % intervals over training runs and prompts"
                                                     : "95 % bootstrap intervals over prompts";
}

std::vector<ChartPoint> checkpoint_points(ScoreReader& scores,
                                          const std::vector<EvaluatedCheckpoint>& evaluated,
                                          const CurveOf& curve) {
  std::map<int, Checkpoints> by_step;
  for (const auto& checkpoint : evaluated) {
    if (checkpoint.method == curve.method && checkpoint.split == curve.split)
      by_step[checkpoint.step].push_back(&checkpoint);
  }
  std::vector<ChartPoint> points;
  for (const auto& [step, checkpoints] : by_step) {
    if (auto point = checkpoint_point(scores, checkpoints, curve.metric)) points.push_back(std::move(*point));
  }
  return points;
}

ChartGroup training_curves(Store& store, const Experiment& experiment, std::int64_t most_points) {
  ChartGroup group{.title = "Curves by update",
                   .notes = {bands_note(experiment) +
                             " The reward is that of each epoch's samples. Everything else is of off-policy "
                             "updates: on-policy ones have log-ratios of 0 by construction."}};
  std::vector<std::int64_t> points;
  std::int64_t updates = 0;
  for (const auto& statistic : kStatistics) {
    const auto [longest, last] = extent_of(store, experiment, statistic);
    points.push_back(longest);
    updates = std::max(updates, last);
  }
  // One window for all long curves, which the note can name.
  const auto window = window_of(updates, most_points);
  const bool is_averaged = std::ranges::max(points) > most_points;
  for (std::size_t i = 0; i < std::size(kStatistics); ++i) {
    const bool is_long = points[i] > most_points;
    add_statistic(statistic_curves(store, experiment, kStatistics[i], is_long ? window : 1), experiment, i,
                  group.charts);
  }
  share_extent(group.charts);
  group.small = !has_a_look_each(experiment);
  if (group.small)
    group.notes.front() += std::string(kGreyNote) +
                           " Reward and late path variance alone; the others stand on "
                           "a run's own page.";
  if (is_averaged)
    group.notes.push_back(fmt::format("Points of long curves are means over {} updates.", window));
  return group;
}

ChartGroup validation_curves(Store& store, const Experiment& experiment,
                             const std::vector<TableColumn>& metrics) {
  if (experiment.is_training()) return {};
  const auto selection = experiment.table.selection;
  ScoreReader scores(store);
  const auto& evaluated = scores.checkpoints(experiment);
  const auto chosen_by = std::ranges::find(metrics, selection.metric, &TableColumn::key);
  ChartGroup group{
      .title = fmt::format("The {} split by checkpoint", selection.split),
      .notes = {fmt::format(
          "Rings: the checkpoints that selection chose by {} ({}){}. Bars: {} of the mean.",
          chosen_by == metrics.end() ? selection.metric : chosen_by->title, selection.rule,
          experiment.seeds.size() > 1 ? ", for each run by its own scores; points are means over runs" : "",
          intervals_of_means(experiment))}};
  auto methods = experiment.methods;
  if (experiment.table.has_base) methods.insert(methods.begin(), kBaseMethod);
  group.small = !has_a_look_each(experiment);
  if (group.small) group.notes.front() += kGreyNote;
  for (const auto& metric : metrics) {
    // Panels of every metric would be hundreds.
    if (group.small && metrics.size() > 1 && metric.key != selection.metric) continue;
    Chart chart{.title = metric.title, .x_label = "checkpoint", .y_label = "mean over prompts"};
    for (const auto& method : methods) {
      chart.series.push_back(
          {.label = method,
           .color = color_of(experiment, method),
           .look = ChartLook::kLineAndMarks,
           .points = checkpoint_points(scores, evaluated, {method, selection.split, metric.key})});
    }
    if (metric.unit == Unit::kPercent) in_percent(chart);
    if (group.small) {
      std::ranges::move(panels_of(chart, experiment.effective.baseline, chart.title),
                        std::back_inserter(group.charts));
      continue;
    }
    set_apart(chart);
    chart.series.front().shift = 0;  // the base model is alone at its checkpoint
    group.charts.push_back(std::move(chart));
  }
  return group;
}

std::vector<ChartGroup> law_charts(Store& store, const Experiment& experiment) {
  std::vector<ChartGroup> groups;
  for (const auto& method : experiment.methods) {
    auto group = law_group(store, experiment, method);
    if (!is_empty(group.charts[1])) groups.push_back(std::move(group));
  }
  if (groups.empty()) return groups;
  groups.insert(
      groups.begin(),
      {.title = {},
       .notes = {
           "The law predicts mean and variance of the mean-reduced log-ratio y on fresh off-policy samples. "
           "Bars: two standard errors, seeds averaged.",
           law_rule(store, experiment)}});
  return groups;
}

}  // namespace harness
