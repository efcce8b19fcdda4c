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
#include "harness/terminal/output.h"
#include "results/store/rows.h"

namespace harness {
namespace {

using enum SeriesStyle;

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
std::vector<FigurePoint> over_seeds(const std::vector<AuditRow>& rows, Value value, double shift = 0) {
  std::map<std::int64_t, std::vector<double>> by_step;
  for (const auto& row : rows) by_step[row.timestep].push_back(std::invoke(value, row));
  std::vector<FigurePoint> points;
  for (const auto& [step, values] : by_step) {
    double mean = 0;
    for (const double v : values) mean += v / static_cast<double>(values.size());
    const auto [low, high] = std::minmax_element(values.begin(), values.end());
    points.push_back({.x = static_cast<double>(step) + shift, .y = mean, .low = *low, .high = *high});
  }
  return points;
}

constexpr const char* kFormulas =
    "Drift: lambda_center predicted, -2 E[y] measured. Variance: E[lambda_var] + Var(lambda_center) / 4 "
    "predicted, Var(y) "
    "measured, y being the mean-reduced log-ratio.";
constexpr const char* kEstimators =
    "Estimators of lambda_center on fresh samples: the shift of the means, which the method uses; the shift "
    "of the "
    "velocities with the factor of the sampler's time direction; D (Var(y) - Var(lambda_center) / 4), D "
    "latent "
    "elements. The law says that they agree.";
constexpr const char* kStepLabel = "denoising step k (0 is the noisiest)";
constexpr double kApart = 0.12;  // marks of two series at one step stand side by side

constexpr auto predicted_drift = &AuditRow::lambda_center;
constexpr auto predicted_variance = &AuditRow::predicted_var;
constexpr auto measured_variance = &AuditRow::log_ratio_var;
double measured_drift(const AuditRow& row) {
  return -2 * row.log_ratio_mean;
}

/// How much larger the reused samples' variance is than the law's, which holds for fresh ones only.
std::string inflation_note(const std::vector<AuditRow>& reused) {
  if (reused.empty()) return "Every sample was used once, so all are fresh.";
  double low = 1e300, high = 0;
  for (const auto& point :
       over_seeds(reused, [](const AuditRow& row) { return row.log_ratio_var / row.predicted_var; })) {
    low = std::min(low, point.y);
    high = std::max(high, point.y);
  }
  return fmt::format(
      "Reused: samples that updates had used before. Their noise is no longer independent of the policy's "
      "move, and the law does not speak of them: their variance is {:.1f} to {:.1f} times the formula's.",
      low, high);
}

std::string scope_note(const Experiment& experiment, const std::string& what) {
  return fmt::format(
      "{}, table {} ({}, scale {}), seeds {}: means and ranges over seeds of off-policy updates. Fresh: no "
      "update had used the samples.",
      what, experiment.table_id, experiment.backbone, experiment.scale, fmt::join(experiment.seeds, ", "));
}

FigureSeries line(std::string label, SeriesStyle style, std::vector<FigurePoint> points) {
  return {.label = std::move(label), .style = style, .points = std::move(points)};
}

FigureSeries marks(std::string label, SeriesStyle style, std::vector<FigurePoint> points) {
  return {.label = std::move(label), .kind = SeriesKind::kMarks, .style = style, .points = std::move(points)};
}

FigurePanel panel_of(const char* title, const char* y_label, std::vector<FigureSeries> series) {
  return {
      .title = title, .x_label = kStepLabel, .y_label = y_label, .log_y = true, .series = std::move(series)};
}

FigurePanel estimator_panel(const std::vector<AuditRow>& fresh) {
  std::vector<AuditRow> with_velocities = fresh;
  std::erase_if(with_velocities, [](const AuditRow& row) { return !row.lambda_velocity; });
  const auto velocity = [](const AuditRow& row) { return *row.lambda_velocity; };
  return panel_of("estimators of lambda_center", "log-ratio (nats)",
                  {line("mean shift", kFirst, over_seeds(fresh, predicted_drift)),
                   marks("velocities", kSecond, over_seeds(with_velocities, velocity, -kApart)),
                   marks("Var(y)", kThird, over_seeds(fresh, &AuditRow::lambda_ratio_var, kApart))});
}

/// The vertical axes are logarithmic.
std::string range_note(const Figure& figure) {
  for (const auto& panel : figure.panels) {
    for (const auto& series : panel.series) {
      if (std::ranges::any_of(series.points, [](const FigurePoint& p) { return p.y > 0 && p.low <= 0; }))
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
    throw Error(fmt::format("{} has no off-policy update with fresh samples", method), "figure " + name,
                "choose another experiment: `harness list experiments`");
  }
  Figure figure{.name = name,
                .panels = {},
                .notes = {scope_note(experiment, method), kFormulas, kEstimators, inflation_note(reused)}};
  const auto panel = [&](const char* title, const char* y_label, auto predicted, auto measured) {
    return panel_of(title, y_label,
                    {line("predicted, fresh", kFirst, over_seeds(fresh, predicted)),
                     marks("measured, fresh", kFirst, over_seeds(fresh, measured, -kApart)),
                     line("predicted, reused", kSecond, over_seeds(reused, predicted)),
                     marks("measured, reused", kSecond, over_seeds(reused, measured, kApart))});
  };
  figure.panels.push_back(panel("drift", "log-ratio (nats)", predicted_drift, measured_drift));
  figure.panels.push_back(
      panel("variance", "squared log-ratio (nats^2)", predicted_variance, measured_variance));
  figure.panels.push_back(estimator_panel(fresh));
  figure.notes.front() += range_note(figure);
  return figure;
}

/// Methods beside each other: what controlling lambda does to the measured log-ratio.
Figure law_comparison(Store& store, const Experiment& experiment, const std::string& name,
                      const std::vector<std::string>& methods) {
  Figure figure{.name = name,
                .panels = {panel_of("lambda_center", "log-ratio (nats)", {}),
                           panel_of("|E[y]|", "log-ratio (nats)", {}),
                           panel_of("Var(y)", "squared log-ratio (nats^2)", {}),
                           panel_of("depression of the median ratio", "1 - median of exp(y)", {})},
                .notes = {fmt::format(
                    "{} (table {}, {}, scale {}), seeds {}: means and ranges over seeds of updates on reused "
                    "samples, or of all off-policy ones where none were reused.",
                    join(methods, " and "), experiment.table_id, experiment.backbone, experiment.scale,
                    fmt::join(experiment.seeds, ", "))}};
  const std::vector<SeriesStyle> styles = {kFirst, kSecond, kThird};
  for (std::size_t i = 0; i < methods.size() && i < styles.size(); ++i) {
    auto rows = audit_rows(store, experiment, methods[i], false);
    if (rows.empty()) rows = audit_rows(store, experiment, methods[i], true);
    const auto add = [&](std::size_t panel, auto value) {
      auto& series = figure.panels[panel].series;
      const auto points = over_seeds(rows, value);
      series.push_back(line(methods[i], styles[i], points));
      series.push_back(marks("", styles[i], points));
    };
    add(0, predicted_drift);
    add(1, [](const AuditRow& row) { return std::abs(row.log_ratio_mean); });
    add(2, measured_variance);
    add(3, [](const AuditRow& row) { return 1 - row.ratio_median; });
  }
  return figure;
}

}  // namespace

const std::vector<FigureInfo>& known_figures() {
  static const std::vector<FigureInfo> figures = {
      {"law-audit",
       "predicted and measured drift and variance of the log-ratio by step, of --method NAME or the table's "
       "last",
       ""},
      {"law-audit-baseline", "the same of the baseline: the paper's first figure", "tiny-sd3-zclip"},
      {"law-audit-zclip", "baseline and z-clip beside each other: the paper's second figure",
       "tiny-sd3-zclip"}};
  return figures;
}

Figure make_figure(Store& store, const Experiment& experiment, const std::string& name,
                   const std::string& method) {
  if (!method.empty()) {
    if (name != "law-audit")
      throw Error(fmt::format("figure {} shows the methods that its name says", name), "--method " + method,
                  "leave it out, or draw law-audit");
    require_choice(method, experiment.methods, "method", "--method");
    return law_audit(store, experiment, fmt::format("law-audit-{}", method), method);
  }
  if (name == "law-audit") return law_audit(store, experiment, name, experiment.methods.back());
  if (name == "law-audit-baseline") return law_audit(store, experiment, name, experiment.effective.baseline);
  if (name == "law-audit-zclip") {
    std::vector<std::string> methods = {experiment.effective.baseline};
    std::ranges::remove_copy(experiment.methods, std::back_inserter(methods), experiment.effective.baseline);
    return law_comparison(store, experiment, name, methods);
  }
  throw Error(fmt::format("unknown figure \"{}\"", name), "harness figure",
              suggestion(name, names_of(known_figures())));
}

std::vector<std::string> figures_of(const Experiment& experiment) {
  if (!experiment.is_training()) return {};
  std::vector<std::string> names;
  for (const auto& figure : known_figures()) {
    if (figure.table == experiment.table_id) names.push_back(figure.name);
  }
  if (names.empty()) names.push_back("law-audit");
  return names;
}

}  // namespace harness
