#include "harness/show/report_curves.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "core/law_limits.h"
#include "core/text.h"
#include "harness/show/evaluated_checkpoints.h"
#include "harness/show/training_table.h"
#include "results/store/rows.h"

namespace harness {
namespace {

constexpr std::size_t kMaxPoints = 120;  // of a curve; longer runs are averaged over windows of updates

/// Colours count the methods in the table's order; the starting weights have the neutral one.
std::size_t color_of(const Experiment& experiment, const std::string& method) {
  if (method == kBaseMethod) return kNeutralColor;
  const auto& methods = experiment.methods;
  const auto found = std::find(methods.begin(), methods.end(), method);
  return static_cast<std::size_t>(found - methods.begin()) % kColors;
}

struct Statistic {
  const char *name, *title, *label;
  bool by_step = false;    ///< averaged over the trained steps
  bool on_policy = false;  ///< of the updates at which every log-ratio is 0, not of the others
  bool log = false;
};

constexpr Statistic kStatistics[] = {
    {.name = "reward_mean", .title = "Training reward", .label = "mean reward", .on_policy = true},
    {.name = "lambda_late", .title = "Lambda_late", .label = "late-step lambda_center", .log = true},
    {.name = "lambda_center",
     .title = "lambda_center",
     .label = "mean over steps",
     .by_step = true,
     .log = true},
    {.name = "clip_fraction", .title = "Clip fraction", .label = "share of ratios"},
    {.name = "grad_norm", .title = "Gradient norm", .label = "before clipping", .log = true}};

using Curve = std::map<std::int64_t, double>;  // by update

Curve curve_of(Store& store, const std::string& run_id, const Statistic& statistic) {
  constexpr auto kSql = R"sql(
    SELECT update_index, avg(value) FROM train_stats
    WHERE run_id = ?1 AND name = ?2 AND (timestep IS NOT NULL) = ?3 AND on_policy = ?4 AND value IS NOT NULL
    GROUP BY update_index)sql";
  Curve curve;
  for (const auto& [update, mean] : rows_of<std::int64_t, double>(
           store, kSql, run_id, std::string(statistic.name), statistic.by_step, statistic.on_policy))
    curve[update] = mean;
  return curve;
}

/// Method and id of an experiment's runs, by seed, the starting weights left out.
auto runs_of(Store& store, const Experiment& experiment) {
  constexpr auto kSql = R"sql(
    SELECT member.arm, member.run_id FROM reproduction_runs AS member JOIN runs ON runs.id = member.run_id
    WHERE member.reproduction_id = ?1 AND runs.method <> 'base' ORDER BY runs.seed)sql";
  return rows_of<std::string, std::string>(store, kSql, experiment.id);
}

std::int64_t window_of(const std::vector<Curve>& curves) {
  std::size_t longest = 1;
  std::int64_t last = 1;
  for (const auto& curve : curves) {
    longest = std::max(longest, curve.size());
    if (!curve.empty()) last = std::max(last, curve.rbegin()->first);
  }
  if (longest <= kMaxPoints) return 1;
  return (last + static_cast<std::int64_t>(kMaxPoints) - 1) / static_cast<std::int64_t>(kMaxPoints);
}

/// Means over windows of `window` updates, named by the last of each.
Curve averaged(const Curve& curve, std::int64_t window) {
  if (window == 1) return curve;
  Curve out;
  std::map<std::int64_t, int> counts;
  for (const auto& [update, value] : curve) {
    const auto last = (update + window - 1) / window * window;
    out[last] += value;
    ++counts[last];
  }
  for (auto& [last, value] : out) value /= counts.at(last);
  return out;
}

/// Mean and range over the seeds at each update.
std::vector<ChartPoint> over_seeds(const std::vector<Curve>& curves) {
  std::map<std::int64_t, std::vector<double>> by_update;
  for (const auto& curve : curves) {
    for (const auto& [update, value] : curve) by_update[update].push_back(value);
  }
  std::vector<ChartPoint> points;
  for (const auto& [update, values] : by_update) {
    double mean = 0;
    for (const double value : values) mean += value / static_cast<double>(values.size());
    ChartPoint point{.x = static_cast<double>(update), .y = mean};
    if (values.size() > 1) {
      const auto [low, high] = std::minmax_element(values.begin(), values.end());
      point.low = *low;
      point.high = *high;
    }
    points.push_back(std::move(point));
  }
  return points;
}

/// `widest`: raised to the window of updates that its points are means over.
Chart statistic_chart(Store& store, const Experiment& experiment, const Statistic& statistic,
                      std::int64_t& widest) {
  Chart chart{
      .title = statistic.title, .x_label = "update", .y_label = statistic.label, .log_y = statistic.log};
  std::map<std::string, std::vector<Curve>> by_method;
  std::vector<Curve> all;
  for (const auto& [method, run] : runs_of(store, experiment)) {
    all.push_back(curve_of(store, run, statistic));
    by_method[method].push_back(all.back());
  }
  const auto window = window_of(all);
  widest = std::max(widest, window);
  for (const auto& method : experiment.methods) {
    for (auto& curve : by_method[method]) curve = averaged(curve, window);
    chart.series.push_back({.label = method,
                            .color = color_of(experiment, method),
                            .look = ChartLook::kLine,
                            .points = over_seeds(by_method[method])});
  }
  return chart;
}

std::string bands_note(const Experiment& experiment) {
  if (experiment.seeds.size() == 1) {
    return fmt::format("One training run a method (seed {}): there is no band over seeds.",
                       experiment.seeds.front());
  }
  return fmt::format("Lines are means over seeds {}, bands their range.", fmt::join(experiment.seeds, ", "));
}

using Checkpoints = std::vector<const EvaluatedCheckpoint*>;

/// Mean of a metric over prompts and seeds with its interval: the paired bootstrap against zeros.
std::optional<ChartPoint> checkpoint_point(Store& store, const Checkpoints& checkpoints,
                                           const std::string& metric) {
  std::vector<PairedValue> values;
  ChartPoint point{.x = static_cast<double>(checkpoints.front()->step)};
  std::vector<std::string> selected;
  for (const auto* checkpoint : checkpoints) {
    for (const auto& value : store.metric_values(checkpoint->evaluation_id, metric)) {
      values.push_back({.baseline = 0, .method = value.value, .cluster = value.prompt_id});
    }
    if (checkpoint->selected) selected.push_back(fmt::format("{}", checkpoint->seed));
  }
  const auto summary = compare_paired(values, Better::kUp);
  if (!summary.delta) return std::nullopt;
  point.y = *summary.delta;
  if (summary.ci) {
    point.low = summary.ci->low;
    point.high = summary.ci->high;
  }
  point.marked = !selected.empty() && checkpoints.front()->method != kBaseMethod;
  if (point.marked) {
    point.note = (selected.size() > 1 ? "selected, seeds " : "selected, seed ") + join(selected, ", ");
  }
  return point;
}

ChartSeries checkpoint_series(Store& store, const Experiment& experiment,
                              const std::vector<EvaluatedCheckpoint>& evaluated, const std::string& method,
                              const std::string& split, const std::string& metric) {
  std::map<int, Checkpoints> by_step;
  for (const auto& checkpoint : evaluated) {
    if (checkpoint.method == method && checkpoint.split == split)
      by_step[checkpoint.step].push_back(&checkpoint);
  }
  ChartSeries series{
      .label = method, .color = color_of(experiment, method), .look = ChartLook::kLineAndMarks};
  for (const auto& [step, checkpoints] : by_step) {
    if (auto point = checkpoint_point(store, checkpoints, metric)) series.points.push_back(std::move(*point));
  }
  return series;
}

/// Marks of several series at one place stand side by side.
void set_apart(Chart& chart) {
  constexpr double kApart = 4;  // pixels
  const double middle = static_cast<double>(chart.series.size() - 1) / 2;
  for (std::size_t i = 0; i < chart.series.size(); ++i) {
    chart.series[i].shift = kApart * (static_cast<double>(i) - middle);
  }
}

/// The audit of one step, seeds averaged. Errors are those of measured minus predicted.
struct LawStep {
  std::int64_t number = 0;
  double drift = 0, predicted_drift = 0, drift_error = 0;
  double variance = 0, predicted_variance = 0, variance_error = 0;
  double lambda_of_variance = 0;
  std::optional<double> lambda_of_velocities;  ///< none in runs recorded before it was
};

std::vector<LawStep> law_steps(Store& store, const Experiment& experiment, const std::string& method) {
  constexpr auto kSql = R"sql(
    SELECT audit.timestep, avg(-2 * log_ratio_mean), avg(lambda_center), sqrt(sum(4 * mean_se * mean_se)) / count(*),
           avg(log_ratio_var), avg(predicted_var), sqrt(sum(var_se * var_se)) / count(*),
           avg(lambda_ratio_var), avg(lambda_velocity)
    FROM reproduction_runs AS member JOIN v_law_audit AS audit ON audit.run_id = member.run_id
    WHERE member.reproduction_id = ?1 AND member.arm = ?2 AND audit.fresh = 1
    GROUP BY audit.timestep ORDER BY audit.timestep)sql";
  return rows_as<LawStep, std::int64_t, double, double, double, double, double, double, double,
                 std::optional<double>>(store, kSql, experiment.id, method);
}

constexpr const char* kStepLabel = "denoising step";
constexpr std::size_t kPredicted = 0, kMeasured = 1;

Chart law_chart(const char* title, const char* label) {
  return {.title = title,
          .x_label = kStepLabel,
          .y_label = label,
          .log_y = true,
          .series = {{.label = "predicted", .color = kPredicted, .look = ChartLook::kLine},
                     {.label = "measured", .color = kMeasured, .look = ChartLook::kMarks}}};
}

/// `deviation`: measured minus predicted, in standard errors.
void add_law_point(Chart& chart, ChartSeries& deviation, double step, double predicted, double measured,
                   double error) {
  chart.series[0].points.push_back({.x = step, .y = predicted});
  chart.series[1].points.push_back(
      {.x = step, .y = measured, .low = measured - 2 * error, .high = measured + 2 * error});
  if (error > 0) deviation.points.push_back({.x = step, .y = (measured - predicted) / error});
}

/// lambda_center as the method takes it, and by the paper's other estimators.
Chart estimator_chart() {
  return {.title = "Estimators of lambda_center",
          .x_label = kStepLabel,
          .y_label = "nats",
          .log_y = true,
          .series = {{.label = "mean shift", .color = kPredicted, .look = ChartLook::kLine},
                     {.label = "velocities", .color = 2, .look = ChartLook::kMarks},
                     {.label = "\u22122 E[y]", .color = kMeasured, .look = ChartLook::kMarks},
                     {.label = "D Var(y), corrected", .color = 3, .look = ChartLook::kMarks}}};
}

void add_estimates(Chart& chart, double x, const LawStep& step) {
  const std::array<std::optional<double>, 4> estimates = {step.predicted_drift, step.lambda_of_velocities,
                                                          step.drift, step.lambda_of_variance};
  for (std::size_t i = 0; i < estimates.size(); ++i) {
    if (estimates[i]) chart.series[i].points.push_back({.x = x, .y = *estimates[i]});
  }
}

int not_positive(const ChartSeries& series) {
  return static_cast<int>(
      std::ranges::count_if(series.points, [](const auto& point) { return !(point.y > 0); }));
}

ChartGroup law_group(Store& store, const Experiment& experiment, const std::string& method) {
  ChartGroup group{.title = method};
  auto drift = law_chart("Drift: lambda_center and \u22122 E[y]", "nats"),
       variance = law_chart("Variance: predicted and Var(y)", "nats\u00b2");
  Chart deviation{.title = "Measured \u2212 predicted",
                  .x_label = kStepLabel,
                  .y_label = "standard errors",
                  .guides = {-kLawBreakZ, kLawBreakZ},
                  .series = {{.label = "drift", .color = 2, .look = ChartLook::kMarks},
                             {.label = "variance", .color = 3, .look = ChartLook::kMarks}}};
  auto estimators = estimator_chart();
  for (const auto& step : law_steps(store, experiment, method)) {
    const auto x = static_cast<double>(step.number);
    add_law_point(drift, deviation.series[0], x, step.predicted_drift, step.drift, step.drift_error);
    add_law_point(variance, deviation.series[1], x, step.predicted_variance, step.variance,
                  step.variance_error);
    add_estimates(estimators, x, step);
  }
  set_apart(deviation);
  set_apart(estimators);
  if (const int below = not_positive(drift.series[1]) + not_positive(variance.series[1]); below > 0) {
    group.notes.push_back(
        fmt::format("{} not positive and {} no place on a logarithmic axis; the deviations show {}.",
                    below == 1 ? "1 measured value is" : fmt::format("{} measured values are", below),
                    below == 1 ? "has" : "have", below == 1 ? "it" : "them"));
  }
  group.charts = {std::move(drift), std::move(variance), std::move(deviation), std::move(estimators)};
  return group;
}

}  // namespace

ChartGroup training_curves(Store& store, const Experiment& experiment) {
  ChartGroup group{.title = "Curves by update",
                   .notes = {bands_note(experiment) +
                             " The reward is that of each epoch's samples. Everything else is of off-policy "
                             "updates: on-policy ones have log-ratios of 0 by construction."}};
  std::int64_t window = 1;
  for (const auto& statistic : kStatistics)
    group.charts.push_back(statistic_chart(store, experiment, statistic, window));
  if (window > 1)
    group.notes.push_back(fmt::format("Points of long curves are means over {} updates.", window));
  return group;
}

ChartGroup validation_curves(Store& store, const Experiment& experiment,
                             const std::vector<TableColumn>& metrics) {
  if (experiment.is_training()) return {};
  const auto selection = experiment.table.selection;
  const auto evaluated = evaluated_checkpoints(store, experiment);
  ChartGroup group{
      .title = fmt::format("The {} split by checkpoint", selection.split),
      .notes = {fmt::format("Rings: the checkpoints that selection chose by {} ({}). Bars: 95 % bootstrap "
                            "intervals of the mean, over prompts.",
                            selection.metric, selection.rule)}};
  std::vector<std::string> methods{kBaseMethod};
  methods.insert(methods.end(), experiment.methods.begin(), experiment.methods.end());
  for (const auto& metric : metrics) {
    Chart chart{.title = metric.title, .x_label = "checkpoint", .y_label = metric.key};
    for (const auto& method : methods) {
      chart.series.push_back(
          checkpoint_series(store, experiment, evaluated, method, selection.split, metric.key));
    }
    set_apart(chart);
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
      {.title = "",
       .notes = {fmt::format(
           "The law predicts mean and variance of the mean-reduced log-ratio y on fresh off-policy "
           "samples. Bars: two standard errors, seeds averaged. A run breaks the law where a step with "
           "at least {} samples is more than {} standard errors (dashed lines) and {:.0f} % away.",
           kLawEnoughSamples, kLawBreakZ, kLawBreakShare * 100)}});
  return groups;
}

}  // namespace harness
