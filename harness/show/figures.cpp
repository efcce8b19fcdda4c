#include "harness/show/figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <map>
#include <optional>

#include "core/error.h"
#include "core/text.h"
#include "harness/show/leaderboard.h"
#include "harness/show/report_curves.h"
#include "harness/show/table_model.h"
#include "harness/terminal/output.h"
#include "results/store/rows.h"
#include "results/store/seeds.h"
#include "results/table/table_view.h"

namespace harness {
namespace {

// Colours of series, and with them their dashes and marks.
constexpr std::size_t kFirst = 0, kSecond = 1, kThird = 2;

/// One seed's law audit at one timestep.
struct AuditRow {
  std::int64_t timestep = 0;
  double lambda_center = 0, log_ratio_mean = 0, predicted_var = 0, log_ratio_var = 0, ratio_median = 0;
  double lambda_ratio_var = 0;
  std::optional<double> lambda_velocity = std::nullopt;  ///< none in runs recorded before it was
};

std::vector<AuditRow> audit_rows(Store& store, const Experiment& experiment, const std::string& method,
                                 bool fresh) {
  constexpr auto kSql = R"sql(
    SELECT audit.timestep, audit.lambda_center, audit.log_ratio_mean, audit.predicted_var, audit.log_ratio_var,
           audit.ratio_median, audit.lambda_ratio_var, audit.lambda_velocity
    FROM reproduction_runs AS member JOIN v_law_audit AS audit ON audit.run_id = member.run_id
    WHERE member.reproduction_id = ?1 AND member.arm = ?2 AND audit.fresh = ?3
    ORDER BY audit.timestep, audit.seed)sql";
  return rows_as<AuditRow, std::int64_t, double, double, double, double, double, double,
                 std::optional<double>>(store, kSql, experiment.id, method, fresh);
}

/// Mean over the seeds at each timestep, with their range.
template <class Value>
std::vector<ChartPoint> over_seeds(const std::vector<AuditRow>& rows, Value value) {
  std::map<std::int64_t, std::vector<double>> by_step;
  for (const auto& row : rows) by_step[row.timestep].push_back(std::invoke(value, row));
  std::vector<ChartPoint> points;
  for (const auto& [step, values] : by_step) {
    double mean = 0;
    for (const double v : values) mean += v / static_cast<double>(values.size());
    const auto [low, high] = std::ranges::minmax(values);
    points.push_back({.x = static_cast<double>(step), .y = mean, .low = low, .high = high});
  }
  return points;
}

constexpr const char* kFormulas =
    "Drift: predicted \u03bb_{center}, measured \u22122 E[y]. Variance: predicted E[\u03bb_{var}] + "
    "Var(\u03bb_{center})/4, measured Var(y), where y is the mean-reduced log-ratio.";
constexpr const char* kEstimators =
    "Estimators of \u03bb_{center} on fresh samples: from the means (as the methods use it), from the "
    "velocities, and from Var(y); the law predicts that they agree, but for what Var(\u03bb_{center})/4 adds to the "
    "last where \u03bb_{center} differs much between samples, as after few updates.";
constexpr double kApart = 4;  // marks of two series at one step are side by side

constexpr auto predicted_drift = &AuditRow::lambda_center;
constexpr auto predicted_variance = &AuditRow::predicted_var;
constexpr auto measured_variance = &AuditRow::log_ratio_var;
constexpr auto measured_drift = [](const AuditRow& row) { return -2 * row.log_ratio_mean; };

/// How much larger the reused samples' variance is than the law's, which holds for fresh ones only.
std::string inflation_note(const std::vector<AuditRow>& reused) {
  if (reused.empty()) return "Every sample was used once, so all are fresh.";
  const auto inflation =
      over_seeds(reused, [](const AuditRow& row) { return row.log_ratio_var / row.predicted_var; });
  const auto [low, high] = std::ranges::minmax(inflation, {}, &ChartPoint::y);
  return fmt::format(
      "Reused: samples of earlier updates, which the law does not cover: their variance is {:.1f} to {:.1f} "
      "times the prediction.",
      low.y, high.y);
}

ChartSeries line(std::string label, std::size_t color, std::vector<ChartPoint> points) {
  return {.label = std::move(label), .color = color, .points = std::move(points)};
}

ChartSeries marks(std::string label, std::size_t color, std::vector<ChartPoint> points, double shift = 0) {
  return {.label = std::move(label),
          .color = color,
          .look = ChartLook::kMarks,
          .shift = shift,
          .points = std::move(points)};
}

Chart panel_of(std::string title, const char* y_label, std::vector<ChartSeries> series) {
  return {.title = std::move(title),
          .x_label = kStepLabel,
          .y_label = y_label,
          .log_y = true,
          .series = std::move(series)};
}

Chart estimator_panel(const std::string& title, const std::vector<AuditRow>& fresh) {
  std::vector<AuditRow> with_velocities = fresh;
  std::erase_if(with_velocities, [](const AuditRow& row) { return !row.lambda_velocity; });
  const auto velocity = [](const AuditRow& row) { return *row.lambda_velocity; };
  return panel_of(title, "nats",
                  {line("from the means", kFirst, over_seeds(fresh, predicted_drift)),
                   marks("from the velocities", kSecond, over_seeds(with_velocities, velocity), -kApart),
                   marks("from Var(y)", kThird, over_seeds(fresh, &AuditRow::lambda_ratio_var), kApart)});
}

/// The vertical axes are logarithmic.
std::string range_note(const Figure& figure) {
  const auto reaches_0 = [](const ChartPoint& p) { return p.y > 0 && p.low && *p.low <= 0; };
  for (const auto& panel : figure.charts) {
    for (const auto& series : panel.series) {
      if (std::ranges::any_of(series.points, reaches_0))
        return " A range that reaches 0 or below is drawn from its mean upwards.";
    }
  }
  return "";
}

/// Predicted against measured mean and variance of the log-ratio, of one method.
Figure law_audit(Store& store, const Experiment& experiment, const std::string& name,
                 const std::string& method) {
  const auto fresh = audit_rows(store, experiment, method, true),
             reused = audit_rows(store, experiment, method, false);
  if (fresh.empty()) {
    throw Error(
        fmt::format("{} has no off-policy update with fresh samples of recorded steps", method),
        "figure " + name,
        "choose a method that trains on recorded steps with --method, or another experiment: `harness "
        "list experiments`");
  }
  Figure figure{
      .name = name,
      .title = fmt::format("Path-variance law under {}, predicted and measured", method),
      .notes = {fmt::format("{}, table {} ({}, scale {}), {}: {} of off-policy updates. Fresh: samples "
                            "that no update had used.",
                            method, experiment.table_id, experiment.backbone, experiment.scale,
                            seeds_in_words(experiment.seeds),
                            experiment.seeds.size() > 1 ? "means and ranges over seeds" : "means"),
                kFormulas, kEstimators, inflation_note(reused)}};
  const auto titled = [&](const char* what) { return fmt::format("{}: {}", method, what); };
  const auto panel = [&](const char* what, const char* y_label, auto predicted, auto measured) {
    return panel_of(titled(what), y_label,
                    {line("predicted, fresh", kFirst, over_seeds(fresh, predicted)),
                     marks("measured, fresh", kFirst, over_seeds(fresh, measured)),
                     line("predicted, reused", kSecond, over_seeds(reused, predicted)),
                     marks("measured, reused", kSecond, over_seeds(reused, measured))});
  };
  figure.charts.push_back(panel("drift", "nats", predicted_drift, measured_drift));
  figure.charts.push_back(panel("variance", "nats^{2}", predicted_variance, measured_variance));
  figure.charts.push_back(estimator_panel(titled("estimators of \u03bb_{center}"), fresh));
  figure.notes.front() += range_note(figure);
  figure.notes.emplace_back("Estimators at one step are set apart sideways.");
  return figure;
}

/// Methods beside each other: what controlling lambda does to the measured log-ratio.
Figure law_comparison(Store& store, const Experiment& experiment, const std::string& name,
                      const std::vector<std::string>& methods) {
  Figure figure{
      .name = name,
      .title = "Measured log-ratios under " + join(methods, " and "),
      .charts = {panel_of("\u03bb_{center}", "nats", {}), panel_of("|E[y]|", "nats", {}),
                 panel_of("Var(y)", "nats^{2}", {}),
                 panel_of("Depression of the median ratio", "1 \u2212 median exp(y)", {})},
      .notes = {fmt::format("Table {} ({}, scale {}), {}: means and ranges over seeds of updates on reused "
                            "samples, or of all off-policy ones where none were reused.",
                            experiment.table_id, experiment.backbone, experiment.scale,
                            seeds_in_words(experiment.seeds))}};
  for (std::size_t i = 0; i < methods.size(); ++i) {
    auto rows = audit_rows(store, experiment, methods[i], false);
    if (rows.empty()) rows = audit_rows(store, experiment, methods[i], true);
    const auto add = [&](std::size_t panel, auto value) {
      figure.charts[panel].series.push_back({.label = methods[i],
                                             .color = i % kColors,
                                             .look = ChartLook::kLineAndMarks,
                                             .points = over_seeds(rows, value)});
    };
    add(0, predicted_drift);
    add(1, [](const AuditRow& row) { return std::abs(row.log_ratio_mean); });
    add(2, measured_variance);
    add(3, [](const AuditRow& row) { return 1 - row.ratio_median; });
  }
  return figure;
}

Figure figure_of(const Experiment& experiment, const std::string& name, std::string title, ChartGroup group) {
  Figure figure{.name = name,
                .title = std::move(title),
                .charts = std::move(group.charts),
                .notes = {fmt::format("{} ({}, scale {}).", experiment.table_id, experiment.backbone,
                                      experiment.scale)},
                .small = group.small};
  if (!experiment.judges_methods())
    figure.notes.emplace_back("At this scale nothing is shown about the methods.");
  std::ranges::move(group.notes, std::back_inserter(figure.notes));
  return figure;
}

Error without(const Experiment& experiment, const FigureRequest& request, const char* what) {
  return Error(fmt::format("table {} has no {}", experiment.table_id, what), "figure " + request.name,
               "choose another with --table or --experiment; `harness figure --list` shows what each needs");
}

bool is_wanted(const FigureRequest& request, const std::string& metric) {
  return request.metrics.empty() || std::ranges::count(request.metrics, metric) > 0;
}

/// The metrics asked for must be among those that there are.
void require_metrics(const FigureRequest& request, const std::vector<std::string>& known) {
  for (const auto& metric : request.metrics) require_choice(metric, known, "metric", "--metric");
}

Figure training_figure(Store& store, const Experiment& experiment, const FigureRequest& request) {
  return figure_of(experiment, request.name, "Training by update", training_curves(store, experiment, 12));
}

Figure validation_figure(Store& store, const Experiment& experiment, const FigureRequest& request) {
  if (experiment.is_training()) throw without(experiment, request, "evaluated checkpoints");
  const auto model = make_table_model(store, experiment);
  std::vector<TableColumn> metrics;
  std::vector<std::string> known;
  for (const auto& column : model.columns) {
    const bool has_values = std::ranges::any_of(
        model.rows, [&](const TableRow& row) { return row.metrics.contains(column.key); });
    if (!has_values || !column.std_of.empty()) continue;
    known.push_back(column.key);
    if (request.metrics.empty() && is_restated(model, column)) continue;
    if (is_wanted(request, column.key)) metrics.push_back(column_of(model, column.key));
  }
  require_metrics(request, known);
  auto figure =
      figure_of(experiment, request.name,
                fmt::format("Metrics by checkpoint on the {} split", experiment.table.selection.split),
                validation_curves(store, experiment, metrics));
  if (!figure.small) figure.notes.emplace_back("Points that would hide one another are set apart sideways.");
  return figure;
}

std::string differences_note(const TableModel& model) {
  return fmt::format("{} ({}, scale {}): mean paired differences with {} % intervals{}.", model.id,
                     model.backbone, model.scale, model.confidence * 100,
                     has_claim(model, Claim::kMethods) ? " over training runs and prompts" : " over prompts");
}

/// Where the intervals are not a statement about methods; else empty.
std::string claim_note(const TableModel& model) {
  if (has_claim(model, Claim::kMethods)) return "";
  if (!model.scale_warning.empty())
    return "At this scale differences are between these checkpoints, not between methods.";
  return in_its_words(model,
                      "Fewer than three training runs per method: differences are between these checkpoints, "
                      "not between methods.");
}

/// What the colours and intervals of differences are.
std::vector<std::string> forest_notes(const TableModel& model, const std::vector<Forest>& forests) {
  const bool printed = std::ranges::any_of(forests, [](const Forest& forest) {
    return std::ranges::any_of(forest.rows, [](const ForestRow& row) { return row.printed.has_value(); });
  });
  std::vector<std::string> notes{differences_note(model)};
  notes.push_back(claim_note(model));
  if (notes.back().empty())
    notes.back() = model.families.methods.empty()
                       ? "All are grey: exploratory, nothing is claimed. Intervals are unadjusted."
                       : "Green: better, red: worse (adjusted p below 0.05). Grey: not resolved.";
  if (printed) notes.emplace_back("Hollow diamonds: differences printed in the paper.");
  return notes;
}

Figure differences_figure(Store& store, const Experiment& experiment, const FigureRequest& request) {
  auto model = make_table_model(store, experiment);
  choose({.with_paper = request.with_paper}, model);
  require_metrics(request, distinct_of(model.comparisons, &Comparison::metric));
  std::erase_if(model.comparisons, [&](const Comparison& c) { return !is_wanted(request, c.metric); });
  // A complement of another metric gives the same figure.
  if (request.metrics.empty())
    std::erase_if(model.comparisons, [](const Comparison& c) { return !c.restates.empty(); });
  if (model.comparisons.empty()) throw without(experiment, request, "comparisons");
  Figure figure{.name = request.name, .title = "Paired differences", .forests = forests_of(model)};
  figure.notes = forest_notes(model, figure.forests);
  return figure;
}

Figure guardrails_figure(Store& store, const Experiment& experiment, const FigureRequest& request) {
  auto model = make_table_model(store, experiment);
  if (!model.guardrails || model.guardrails->effects.empty())
    throw without(experiment, request, "guardrails");
  auto& metrics = model.guardrails->metrics;
  require_metrics(request, texts_of(metrics, &GuardrailMetric::name));
  std::erase_if(metrics, [&](const GuardrailMetric& metric) { return !is_wanted(request, metric.name); });
  Figure figure{
      .name = request.name,
      .title = fmt::format("Guardrails: changes beside the reward, against {}", model.guardrails->base),
      .forests = guardrail_forests(model)};
  figure.notes = {differences_note(model),
                  "Dashed red line: the smallest change that counts as harmful. Red: the whole interval is "
                  "beyond it."};
  if (const auto note = claim_note(model); !note.empty()) figure.notes.push_back(note);
  return figure;
}

/// The paper's figures of the law are about a comparison of training statistics.
void require_training(const Experiment& experiment, const FigureRequest& request) {
  if (experiment.is_training()) return;
  throw Error(fmt::format("needs a table of training statistics (tiny-sd3-zclip), and {} is not one",
                          experiment.table_id),
              "figure " + request.name,
              "draw law-audit of it: `harness figure law-audit --table " + experiment.table_id + "`");
}

Figure law_figure(Store& store, const Experiment& experiment, const FigureRequest& request) {
  if (request.method.empty()) {
    // The last one that was trained here on recorded steps, if any was.
    const auto method = std::ranges::find_if(
        experiment.methods.rbegin(), experiment.methods.rend(),
        [&](const auto& row) { return !audit_rows(store, experiment, row, true).empty(); });
    return law_audit(store, experiment, request.name,
                     method == experiment.methods.rend() ? experiment.methods.back() : *method);
  }
  require_choice(request.method, experiment.methods, "method", "--method");
  return law_audit(store, experiment, fmt::format("law-audit-{}", request.method), request.method);
}

Figure law_baseline_figure(Store& store, const Experiment& experiment, const FigureRequest& request) {
  require_training(experiment, request);
  return law_audit(store, experiment, request.name, experiment.effective.baseline);
}

Figure law_zclip_figure(Store& store, const Experiment& experiment, const FigureRequest& request) {
  require_training(experiment, request);
  std::vector<std::string> methods = {experiment.effective.baseline};
  std::ranges::remove_copy(experiment.methods, std::back_inserter(methods), experiment.effective.baseline);
  return law_comparison(store, experiment, request.name, methods);
}

template <CurveAxis axis>
Figure curves_figure(Store& store, const Experiment& experiment, const FigureRequest& request) {
  if (experiment.is_training()) throw without(experiment, request, "evaluated checkpoints");
  return leaderboard_figure(store, experiment, request.name, axis);
}

/// Names as papers write them.
void rename(const DisplayNames& names, Figure& figure) {
  for (auto& chart : figure.charts) {
    chart.title = names.in_text(chart.title);
    for (auto& series : chart.series) series.label = names.in_text(series.label);
  }
  for (auto& forest : figure.forests) {
    forest.title = names.in_text(forest.title);
    forest.baseline = names.of(forest.baseline);
    for (auto& row : forest.rows) row.name = names.in_text(row.name);
  }
  figure.title = names.in_text(figure.title);
  for (auto& note : figure.notes) note = names.in_text(note);
}

}  // namespace

const std::vector<FigureInfo>& known_figures() {
  constexpr const char *kEvaluations = "a table of evaluations", *kLaw = "tiny-sd3-zclip",
                       *kStatistics = "a table of training statistics (tiny-sd3-zclip)";
  static const std::vector<FigureInfo> all = {
      {"training", "reward, late path variance, path variance, clip fraction and gradient norm by update",
       "any table", training_figure},
      {"validation", "each metric by checkpoint, with the selected ones", kEvaluations, validation_figure,
       false, true},
      {"differences", "paired differences with intervals, by metric and baseline", "any table",
       differences_figure, false, true},
      {"guardrails", "changes beside the reward, with the limits of harm", kEvaluations, guardrails_figure,
       false, true},
      {"law-audit", "drift and variance of the log-ratio by step, predicted and measured, of one method",
       "any table with off-policy updates", law_figure, true},
      {.name = "law-audit-baseline",
       .summary = "the same of the baseline (the paper's first figure)",
       .needs = kStatistics,
       .make = law_baseline_figure,
       .table = kLaw},
      {.name = "law-audit-zclip",
       .summary = "baseline and z-clip side by side (the paper's second figure)",
       .needs = kStatistics,
       .make = law_zclip_figure,
       .table = kLaw},
      {"leaderboard", "learning curves: the metric of selection by images, one small panel per method",
       kEvaluations, curves_figure<CurveAxis::kImages>},
      {"leaderboard-evaluations", "the same by network evaluations", kEvaluations,
       curves_figure<CurveAxis::kEvaluations>},
      {"leaderboard-seconds", "the same by seconds of training", kEvaluations,
       curves_figure<CurveAxis::kSeconds>},
      {"grid", "test prompts chosen by rule with their images (also `harness grid`)", kEvaluations}};
  return all;
}

std::vector<Json> figure_rows() {
  std::vector<Json> rows;
  for (const auto& [name, summary, needs, make, takes_method, takes_metrics, table] : known_figures())
    rows.push_back({{"name", name}, {"summary", summary}, {"needs", needs}, {"table", table}});
  return rows;
}

Figure make_figure(Store& store, const Experiment& experiment, const FigureRequest& request) {
  require_choice(request.name, names_of(known_figures()), "figure", "harness figure");
  const auto found = std::ranges::find(known_figures(), request.name, &FigureInfo::name);
  if (!request.method.empty() && !found->takes_method)
    throw Error(fmt::format("figure {} does not take one method", request.name), "--method " + request.method,
                "leave it out, or draw law-audit");
  if (!request.metrics.empty() && !found->takes_metrics)
    throw Error(fmt::format("figure {} has no choice of metrics", request.name), "--metric",
                "leave it out, or draw validation, differences or guardrails");
  auto figure = found->make(store, experiment, request);
  const auto empty = texts_of(
      figure.charts, [](const Chart& chart) { return is_empty(chart) ? chart.title : std::string(); });
  if (!empty.empty()) figure.notes.push_back(fmt::format("No values of: {}.", join(empty, ", ")));
  rename(request.names, figure);
  return figure;
}

static std::vector<std::string> learning_curves_of(const TableModel& model) {
  std::vector<std::string> names;
  for (const auto& [figure, spent] : {std::pair("leaderboard", "images"),
                                      {"leaderboard-evaluations", "nfe_total"},
                                      {"leaderboard-seconds", "seconds"}}) {
    if (std::ranges::any_of(model.rows, [&](const TableRow& row) { return row.spent.contains(spent); }))
      names.emplace_back(figure);
  }
  return names;
}

std::vector<std::string> figures_of(const Experiment& experiment, const TableModel& model) {
  if (experiment.table.leaderboard) return learning_curves_of(model);
  if (!experiment.is_training()) return {};
  std::vector<std::string> names;
  for (const auto& figure : known_figures()) {
    if (figure.table == experiment.table_id) names.push_back(figure.name);
  }
  if (names.empty()) names.push_back("law-audit");
  return names;
}

}  // namespace harness
