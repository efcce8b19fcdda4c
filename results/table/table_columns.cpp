#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "results/table/table_format.h"
#include "results/table/table_view.h"

namespace harness {
namespace {

bool has_vanishing_value(const TableModel& model, const TableColumn& column) {
  for (const auto* rows : {&model.reference, &model.rows}) {
    for (const auto& row : *rows) {
      if (const auto value = cell_value(row, column); value && vanishes(*value, column)) return true;
    }
  }
  return false;
}

/// The largest of the differences of a metric and the ends of their intervals, without its sign.
double largest_difference(const TableModel& model, const std::string& metric) {
  double largest = 0;
  const auto add = [&](const PairedComparison& values, const Judgement& judgement) {
    largest = std::max(largest, std::abs(values.delta.value_or(0)));
    if (const auto& ci = judgement.interval)
      largest = std::max({largest, std::abs(ci->low), std::abs(ci->high)});
  };
  for (const auto& comparison : model.comparisons) {
    if (comparison.metric != metric) continue;
    add(comparison.values, comparison.judgement);
    largest = std::max(largest, std::abs(comparison.validation_delta.value_or(0)));
  }
  if (!model.guardrails) return largest;
  for (const auto& effect : model.guardrails->effects) {
    if (effect.metric == metric) add(effect.values, effect.judgement);
  }
  return largest;
}

TableColumn described_column(const TableModel& model, const std::string& metric) {
  for (const auto* columns : {&model.columns, &model.metrics}) {
    const auto found = std::ranges::find(*columns, metric, &TableColumn::key);
    if (found != columns->end()) return *found;
  }
  if (model.guardrails) {
    const auto& metrics = model.guardrails->metrics;
    const auto found = std::ranges::find(metrics, metric, &GuardrailMetric::name);
    if (found != metrics.end())
      return {.key = metric,
              .title = found->title,
              .unit = unit_from_name(found->unit),
              .decimals = found->decimals,
              .better = Better::kNone};
  }
  return {.key = metric, .title = metric, .better = Better::kNone};
}

}  // namespace

std::string paper_cell(const TableModel& model, const PaperRow& paper, const TableColumn& column) {
  const auto found = paper.values.find(column.paper_key);
  if (found == paper.values.end()) return "";
  const auto& paper_column = *model.paper->column(column.paper_key);
  const bool is_percent = paper_column.unit == "percent";
  if (!column.paper_metric.empty())
    return fmt::format("{} {}{}", column.paper_metric, found->second.printed, is_percent ? " %" : "");
  if (is_percent == (column.unit == Unit::kPercent)) return format_printed(found->second, column);
  return format_value(paper_value_in_db_unit(paper_column, found->second), column);
}

TableColumn with_notation(const TableModel& model, TableColumn column) {
  column.scientific = has_vanishing_value(model, column);
  column.scientific_differences = vanishes(largest_difference(model, column.key), column);
  return column;
}

TableColumn column_of(const TableModel& model, const std::string& metric) {
  return with_notation(model, described_column(model, metric));
}

std::string title_of(const TableColumn& column) {
  return column.unit == Unit::kPercent ? column.title + " (%)" : column.title;
}

std::string difference_title(const TableColumn& column) {
  return column.unit == Unit::kPercent ? column.title + " (points)" : column.title;
}

std::string paper_difference_title(const TableColumn& column) {
  return column.paper_metric.empty() ? difference_title(column) : column.paper_metric;
}

const PaperComparison* printed_comparison(const TableModel& model, const Comparison& comparison) {
  const auto column = described_column(model, comparison.metric);
  if (!model.paper || column.paper_key.empty()) return nullptr;
  const auto* paper =
      model.paper->comparison(paper_name(model, comparison.baseline), paper_name(model, comparison.method),
                              column.paper_key, model.paper_task);
  return paper && paper->printed && paper->delta ? paper : nullptr;
}

TableColumn as_printed(TableColumn column) {
  // The paper's differences stand in the unit of its column already.
  if (column.unit == Unit::kPercent) column.unit = Unit::kFraction;
  return column;
}

}  // namespace harness
