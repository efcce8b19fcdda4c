#include <fmt/format.h>

#include <algorithm>

#include "core/text.h"
#include "results/statistics/verdict.h"
#include "results/table/table_format.h"
#include "results/table/table_view.h"
#include "results/verdict/discriminability.h"
#include "results/verdict/multiplicity.h"

namespace harness {
namespace {

/// The selected rows of all runs in this metric.
std::vector<RowMean> row_means(const TableModel& model, const std::string& metric) {
  std::vector<RowMean> means;
  for (const auto& row : model.rows) {
    const auto found = row.metrics.find(metric);
    if (row.selected && found != row.metrics.end() && found->second.mean)
      means.push_back({row.method, *found->second.mean});
  }
  return means;
}

Discriminability& entry_of(std::vector<Discriminability>& entries, const std::string& metric) {
  const auto found = std::ranges::find(entries, metric, &Discriminability::metric);
  if (found != entries.end()) return *found;
  return entries.emplace_back(Discriminability{.metric = metric});
}

/// A spread in the column's unit.
std::string spread_text(double spread, TableColumn column) {
  column.scientific = vanishes(spread, column);
  return format_value(spread, column);
}

/// The yardstick's metrics that the table compares, without those that restate another one.
std::vector<YardstickMetric> shown_yardstick(const TableModel& model) {
  const auto names = distinct_of(model.comparisons, [&](const TableComparison& comparison) {
    const bool is_restated =
        !comparison.restates.empty() &&
        std::ranges::count(model.comparisons, comparison.restates, &TableComparison::metric) > 0;
    return is_restated ? "" : comparison.metric;
  });
  std::vector<YardstickMetric> metrics;
  for (const auto& name : names) {
    if (const auto* metric = model.yardstick->find(name)) metrics.push_back(*metric);
  }
  return metrics;
}

std::string share_text(const NullVerdicts& verdicts) {
  return verdicts.comparisons == 0 ? kDash : fmt::format("{} of {}", verdicts.called, verdicts.comparisons);
}

std::string called_text(const std::vector<YardstickMetric>& metrics,
                        NullVerdicts YardstickMetric::*verdicts) {
  NullVerdicts sum;
  for (const auto& metric : metrics) {
    sum.comparisons += (metric.*verdicts).comparisons;
    sum.called += (metric.*verdicts).called;
  }
  return sum.comparisons == 0 ? "" : share_text(sum) + " comparisons";
}

/// How often the rule for verdicts took a difference between runs of equal rows for one.
std::string verdicts_note(const std::vector<YardstickMetric>& metrics) {
  const auto methods = called_text(metrics, &YardstickMetric::methods);
  return fmt::format(
      "Verdicts between runs of these equal rows with different seeds, in {} metrics:{} these checkpoints "
      "differ in {} of one run per row, as checkpoints of one method do.",
      metrics.size(),
      methods.empty() ? ""
                      : fmt::format(" better or worse, each time falsely, in {} of {} runs per row;", methods,
                                    kFewestRuns),
      called_text(metrics, &YardstickMetric::checkpoints));
}

/// What two runs of one method differ by: a difference between methods has to be larger to mean anything.
void add_yardstick_note(const TableModel& model, std::vector<std::string>& notes) {
  if (!model.yardstick) return;
  const auto& yardstick = *model.yardstick;
  const auto metrics = shown_yardstick(model);
  if (metrics.empty()) return;
  const auto in_metric = [&](double spread, const std::string& metric) {
    const auto column = column_of(model, metric);
    return fmt::format("{} in {}", spread_text(spread, column), difference_title(column));
  };
  const auto spreads = texts_of(metrics, [&](const YardstickMetric& metric) {
    return metric.run_sd ? in_metric(*metric.run_sd, metric.metric) : "";
  });
  const auto source = yardstick.is_own
                          ? "rows " + join(yardstick.rows, "; ")
                          : fmt::format("experiment {}, table {}", yardstick.experiment, yardstick.table);
  const auto found =
      spreads.empty()
          ? " have one seed, which shows no noise between runs."
          : fmt::format(
                " with different seeds differ by {} (standard deviation of a difference, from {} runs per "
                "row).",
                join(spreads, ", "), metrics.front().runs);
  // Where the same seed makes nearly the same run, its spread is no noise of runs.
  notes.push_back(
      fmt::format("Yardstick: {}runs of one method ({}; {}){} With the same seed and a meaningless change: "
                  "{}.",
                  spreads.empty() ? "" : "two ", yardstick.method, source, found,
                  in_metric(metrics.front().same_seed_sd, metrics.front().metric)));
  if (yardstick.is_own && !spreads.empty()) notes.push_back(verdicts_note(metrics));
}

/// "negative control (equal): 0 of 4; positive control: 3 of 4 (OCR reward, CER, Exact)"
void add_calibration_note(const TableModel& model, std::vector<std::string>& notes) {
  if (!model.calibration) return;
  const auto& calibration = *model.calibration;
  const auto rows = texts_of(calibration.rows, [&](const CalibrationRow& row) {
    const auto titles =
        texts_of(row.called, [&](const std::string& metric) { return column_of(model, metric).title; });
    return fmt::format("{}{} {} of {}{}", row.row, row.is_equal ? " (equal)" : "", row.called.size(),
                       row.metrics, titles.empty() ? "" : " (" + join(titles, ", ") + ")");
  });
  notes.push_back(fmt::format(
      "Calibration (experiment {}, table {}, {} runs per row): metrics in which a row was called better or "
      "worse than {}: {}.",
      calibration.experiment, calibration.table, calibration.runs, calibration.baseline, join(rows, "; ")));
}

/// Whether rows differ by method or by run, in the first metric that tells.
void add_discriminability_note(const TableModel& model, std::vector<std::string>& notes) {
  const auto entries = discriminability_of(model);
  const auto told = std::ranges::find_if(
      entries, [](const Discriminability& entry) { return entry.intraclass_correlation && entry.largest; });
  const bool are_several = methods_of(model).size() > 2;  // of two there is no furthest
  if (told == entries.end()) return;
  notes.push_back(fmt::format(
      "Rows by method: intraclass correlation {:.2f} in {} (1: all runs of a method agree; 0 or less: "
      "methods differ no more than runs do).{}",
      *told->intraclass_correlation, column_of(model, told->metric).title,
      !are_several
          ? std::string()
          : fmt::format(
                " Furthest from {} in standard errors over runs: {}, {:.1f}; over few runs that is no "
                "test, and the verdicts hold.",
                model.baseline, told->method, *told->largest)));
}

}  // namespace

std::vector<Discriminability> discriminability_of(const TableModel& model) {
  std::vector<Discriminability> entries;
  for (const auto& comparison : model.comparisons) {
    if (comparison.baseline != model.baseline || claim_of_runs(comparison.values) != Claim::kMethods)
      continue;
    auto& entry = entry_of(entries, comparison.metric);
    entry.runs = std::max(entry.runs, comparison.values.crossed->runs);
    std::vector<double> deltas;
    for (const auto& run : comparison.values.crossed->per_run) deltas.push_back(run.delta);
    const auto apart = discrimination(deltas);
    if (!apart || apart <= entry.largest) continue;
    entry.largest = apart;
    entry.method = comparison.method;
  }
  for (auto& entry : entries)
    entry.intraclass_correlation = intraclass_correlation(row_means(model, entry.metric));
  return entries;
}

ViewTable yardstick_view(const TableModel& model) {
  ViewTable table;
  table.columns = {{"Runs of one method", false},
                   {"sd of two runs' difference"},
                   {"with the same seed"},
                   {"Runs"},
                   {fmt::format("Better, worse ({} runs)", kFewestRuns)},
                   {"Checkpoints differ (1 run)"}};
  if (!model.yardstick || !model.yardstick->is_own) return table;
  for (const auto& metric : shown_yardstick(model)) {
    const auto column = column_of(model, metric.metric);
    table.rows.push_back({RowKind::kOurs,
                          {{difference_title(column)},
                           {metric.run_sd ? spread_text(*metric.run_sd, column) : kDash},
                           {spread_text(metric.same_seed_sd, column)},
                           {fmt::format("{}", metric.runs)},
                           {share_text(metric.methods)},
                           {share_text(metric.checkpoints)}}});
  }
  return table;
}

std::vector<std::string> noise_notes(const TableModel& model) {
  std::vector<std::string> notes;
  add_yardstick_note(model, notes);
  add_calibration_note(model, notes);
  add_discriminability_note(model, notes);
  return notes;
}

}  // namespace harness
